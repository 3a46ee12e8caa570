import { ApiProperty, PickType } from '@nestjs/swagger';
import { ScriptSettingsDto } from '../../dto/script.dto.js';

export class LibraryScriptSummaryDto extends PickType(ScriptSettingsDto, [
  'name',
  'description',
  'category',
  'osTypes',
  'language',
] as const) {
  @ApiProperty({ format: 'uuid', description: 'Id of the script' })
  id: string;
}

export class LibraryScriptDto extends PickType(ScriptSettingsDto, [
  'name',
  'description',
  'category',
  'osTypes',
  'language',
  'runAs',
  'timeoutSeconds',
  'tags',
  'exitCodeSeverityMapping',
] as const) {
  @ApiProperty({ format: 'uuid', description: 'Id of the script' })
  id: string;

  @ApiProperty({ description: 'Text of the script' })
  content: string;
}
