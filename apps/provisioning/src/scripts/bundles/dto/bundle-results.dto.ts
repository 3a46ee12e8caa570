import { ApiProperty } from '@nestjs/swagger';
import { UnknownColumnDto } from '../../../import/dto/import-outcome.dto.js';
import { AVAILABILITIES, type Availability } from '../../dto/create-script.dto.js';
import { ScriptFieldsDto } from '../../dto/script-fields.dto.js';

export const ENTRY_STATUSES = ['new', 'name-conflict', 'invalid'] as const;
export const CONFLICT_KINDS = ['same-owner', 'partner-wide', 'in-bundle'] as const;
export const ENTRY_ACTIONS = ['imported', 'skipped', 'renamed', 'versioned'] as const;
export type EntryAction = (typeof ENTRY_ACTIONS)[number];

export class BundleTargetDto {
  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'Organization that gets the scripts; null: all of the partner',
  })
  orgId: string | null;

  @ApiProperty({ format: 'uuid', description: 'Partner that gets the scripts' })
  partnerId: string;

  @ApiProperty({ enum: AVAILABILITIES, description: 'Who can use it: one organization, or all of the partner' })
  availability: Availability;
}

class BundleEntryDto {
  @ApiProperty({ type: 'integer', description: 'Position in the request, counted from 0' })
  index: number;

  @ApiProperty({ type: String, nullable: true, description: 'Name of the script; null when it is not readable' })
  name: string | null;
}

export class BundlePreviewEntryDto extends BundleEntryDto {
  @ApiProperty({ enum: ENTRY_STATUSES, description: 'State of the entry' })
  status: (typeof ENTRY_STATUSES)[number];

  @ApiProperty({ enum: CONFLICT_KINDS, required: false, description: 'What the name conflicts with' })
  conflictKind?: (typeof CONFLICT_KINDS)[number];

  @ApiProperty({ format: 'uuid', required: false, description: 'Id of the script with the same name' })
  existingScriptId?: string;

  @ApiProperty({ type: 'integer', required: false, description: 'Version of the script with the same name' })
  existingVersion?: number;

  @ApiProperty({ required: false, description: 'Text of the error' })
  error?: string;
}

export class BundlePreviewDto {
  @ApiProperty({ type: BundleTargetDto, description: 'Where the bundle is imported to' })
  target: BundleTargetDto;

  @ApiProperty({ type: [BundlePreviewEntryDto], description: 'One entry per script of the bundle' })
  entries: BundlePreviewEntryDto[];

  @ApiProperty({ type: [UnknownColumnDto], description: 'Columns or fields that are not known and were ignored' })
  warnings: UnknownColumnDto[];
}

export class BundleErrorDto extends BundleEntryDto {
  @ApiProperty({ description: 'Text of the error' })
  error: string;
}

export class ImportedScriptDto {
  @ApiProperty({ type: 'integer', description: 'Position in the request, counted from 0' })
  index: number;

  @ApiProperty({ description: 'Name of the script' })
  name: string;

  @ApiProperty({ enum: ENTRY_ACTIONS, description: 'What the import did' })
  action: EntryAction;

  @ApiProperty({ format: 'uuid', description: 'Id of the created or changed script' })
  scriptId: string;

  @ApiProperty({ required: false, description: 'The name that a renamed script got' })
  finalName?: string;
}

export class BundleImportResultDto {
  @ApiProperty({ type: 'integer', description: 'Scripts that were created' })
  imported: number;

  @ApiProperty({ type: 'integer', description: 'Scripts that were skipped' })
  skipped: number;

  @ApiProperty({ type: 'integer', description: 'Scripts that got another name' })
  renamed: number;

  @ApiProperty({ type: 'integer', description: 'Scripts that became a new version of an existing one' })
  versioned: number;

  @ApiProperty({ type: [BundleErrorDto], description: 'Entries that were not imported' })
  errors: BundleErrorDto[];

  @ApiProperty({ type: [ImportedScriptDto], description: 'The scripts that were imported' })
  scripts: ImportedScriptDto[];

  @ApiProperty({ type: [UnknownColumnDto], description: 'Columns or fields that are not known and were ignored' })
  warnings: UnknownColumnDto[];
}

export class ScriptBundleDto {
  @ApiProperty({ enum: [1], type: 'integer', description: 'Version of the format' })
  bundleVersion: 1;

  @ApiProperty({ format: 'date-time', description: 'When the bundle was exported' })
  exportedAt: string;

  @ApiProperty({ type: [ScriptFieldsDto], description: 'The scripts with their content' })
  scripts: ScriptFieldsDto[];
}
