import { IsInteger, IsName, IsOneOf, IsText, IsWordList } from '@rmm/validation';
import {
  SCRIPT_LANGUAGES,
  SCRIPT_OS_TYPES,
  SCRIPT_RUN_AS,
  type ExitCodeSeverityMapping,
  type ScriptLanguage,
  type ScriptOsType,
  type ScriptRunAs,
} from '../script.entity.js';
import { IsExitCodeSeverityMapping, IsScriptContent, IsScriptParameters } from './script-fields.decorator.js';

export const DEFAULT_TIMEOUT_SECONDS = 300;
const MAX_TIMEOUT_SECONDS = 3_600;
const OS_TYPES = { values: SCRIPT_OS_TYPES, min: 1, max: SCRIPT_OS_TYPES.length };
const TIMEOUT = { min: 1, max: MAX_TIMEOUT_SECONDS, optional: true };
const DETAIL = { optional: true, nullable: true };

/** The fields that scripts and entries of bundles have in common, apart from the required ones. */
class ScriptDetailsDto {
  @IsText({ max: 10_000, ...DETAIL, description: 'Free text about the script' })
  description?: string | null;

  @IsName({ max: 100, ...DETAIL, example: 'Storage', description: 'Category' })
  category?: string | null;

  @IsWordList({ max: 20, maxLength: 50, ...DETAIL, description: 'At most 20 words of 50 characters' })
  tags?: string[] | null;

  @IsScriptParameters({ ...DETAIL, description: 'Definitions of parameters: an object or a list' })
  parameters?: object | null;

  @IsOneOf(SCRIPT_RUN_AS, { optional: true, description: '`system` by default' })
  runAs?: ScriptRunAs;

  @IsInteger({ ...TIMEOUT, description: `${DEFAULT_TIMEOUT_SECONDS} by default` })
  timeoutSeconds?: number;

  @IsExitCodeSeverityMapping({ ...DETAIL, description: 'Alert severity by exit code; null for no alert' })
  exitCodeSeverityMapping?: ExitCodeSeverityMapping | null;
}

/** A complete script; also an entry of a bundle. */
export class ScriptFieldsDto extends ScriptDetailsDto {
  @IsName({ example: 'Disk space', description: 'Name of the script' })
  name!: string;

  @IsWordList({ ...OS_TYPES, description: 'Operating systems the script runs on' })
  osTypes!: ScriptOsType[];

  @IsOneOf(SCRIPT_LANGUAGES, { description: 'Language of the script' })
  language!: ScriptLanguage;

  @IsScriptContent({ example: 'df -h', description: 'Text of the script' })
  content!: string;
}

/** Absent fields stay as they are; null clears. */
export class UpdateScriptDto extends ScriptDetailsDto {
  @IsName({ optional: true, description: 'Name of the script' })
  name?: string;

  @IsWordList({ ...OS_TYPES, optional: true, description: 'Operating systems the script runs on' })
  osTypes?: ScriptOsType[];

  @IsOneOf(SCRIPT_LANGUAGES, { optional: true, description: 'Language of the script' })
  language?: ScriptLanguage;

  @IsScriptContent({ optional: true, description: 'Text of the script' })
  content?: string;
}
