import { ApiProperty } from '@nestjs/swagger';
import {
  ALERT_SEVERITIES,
  SCRIPT_LANGUAGES,
  SCRIPT_OS_TYPES,
  SCRIPT_RUN_AS,
  type ExitCodeSeverityMapping,
  type ScriptLanguage,
  type ScriptOsType,
  type ScriptRunAs,
} from '../script.entity.js';

const JSON_CONTAINER = {
  oneOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', items: {} },
  ],
  nullable: true,
};

/** The fields that a script and its versions show, without the content. */
export class ScriptSettingsDto {
  @ApiProperty({ description: 'Name of the script' })
  name: string;

  @ApiProperty({ type: String, nullable: true, description: 'Free text about the script' })
  description: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Category' })
  category: string | null;

  @ApiProperty({ enum: SCRIPT_OS_TYPES, isArray: true, description: 'Operating systems the script runs on' })
  osTypes: ScriptOsType[];

  @ApiProperty({ enum: SCRIPT_LANGUAGES, description: 'Language of the script' })
  language: ScriptLanguage;

  @ApiProperty({ ...JSON_CONTAINER, description: 'Declared parameters; null without any' })
  parameters: object | null;

  @ApiProperty({ enum: SCRIPT_RUN_AS, description: 'Account that the script runs as' })
  runAs: ScriptRunAs;

  @ApiProperty({ type: 'integer', description: 'Longest run, in seconds' })
  timeoutSeconds: number;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string', enum: [...ALERT_SEVERITIES], nullable: true },
    nullable: true,
    description: 'Severity of an alert by exit code; null without any',
  })
  exitCodeSeverityMapping: ExitCodeSeverityMapping | null;

  @ApiProperty({ type: [String], description: 'Words that the script is tagged with' })
  tags: string[];

  @ApiProperty({ type: 'integer', description: 'Counts the changes of what a device runs, from 1' })
  version: number;
}

/** A script without its content, as in lists. */
export class ScriptSummaryDto extends ScriptSettingsDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the script' })
  id: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null when it is of all organizations' })
  orgId: string | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null for a built-in script' })
  partnerId: string | null;

  @ApiProperty({ description: 'Whether it is built in' })
  isSystem: boolean;

  @ApiProperty({ format: 'date-time', description: 'When the script was created' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the script was last changed' })
  updatedAt: string;
}

export class ScriptDto extends ScriptSummaryDto {
  @ApiProperty({ description: 'Text of the script' })
  content: string;
}

/** A replaced version without its content, as in lists. */
export class ScriptVersionSummaryDto extends ScriptSettingsDto {
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The user who wrote this version' })
  createdBy: string | null;

  @ApiProperty({ format: 'date-time', description: 'When the version was written' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the next version replaced it' })
  replacedAt: string;
}

export class ScriptVersionDto extends ScriptVersionSummaryDto {
  @ApiProperty({ description: 'Text of the script' })
  content: string;
}
