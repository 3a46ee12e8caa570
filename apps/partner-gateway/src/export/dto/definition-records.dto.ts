import { ApiExtraModels, ApiProperty, OmitType, refs } from '@nestjs/swagger';
import {
  ASSIGNMENT_LEVELS,
  BACKUP_DESTINATION_TYPES,
  BACKUP_PROVIDERS,
  COMPLETENESS_GAPS,
  EXPORTED_FIELD_TYPES,
  EXPORTED_SCRIPT_CHARACTERS,
  FAILURE_REACTIONS,
  POLICY_STATUSES,
} from '@rmm/contracts';
import { ExportPageDto, RecordDto } from './export-page.dto.js';
import {
  ANY_JSON,
  ANY_JSON_ITEMS,
  NULLABLE_FLAG,
  NULLABLE_INTEGER,
  NULLABLE_NUMBER,
  NULLABLE_SCALAR,
  NULLABLE_TEXT,
} from './field-options.js';

const SOURCE_SCOPES = ['organization', 'partner'];

class PolicyFeatureDto {
  @ApiProperty({ description: 'Id of the feature' })
  id: string;

  @ApiProperty({ description: 'Type of the feature' })
  type: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Id of the policy that the settings come from; null for its own' })
  policyId: string | null;

  @ApiProperty({ ...ANY_JSON, description: 'Settings of the feature, as its type defines them' })
  settings: unknown;
}

export class ConfigurationPolicyRecordDto extends RecordDto {
  @ApiProperty({
    enum: SOURCE_SCOPES,
    description: '`partner` for a definition of the partner, which repeats for each organization',
  })
  sourceScope: string;

  @ApiProperty({ description: 'Name of the policy' })
  name: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Description, as its author wrote it' })
  description: string | null;

  @ApiProperty({ enum: POLICY_STATUSES, description: 'Status of the policy' })
  status: string;

  @ApiProperty({ type: [PolicyFeatureDto], description: 'Settings of the policy by feature' })
  features: PolicyFeatureDto[];
}

export class ConfigurationAssignmentRecordDto extends RecordDto {
  @ApiProperty({ description: 'Id of the policy' })
  policyId: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Name of the policy' })
  policyName: string | null;

  @ApiProperty({
    enum: SOURCE_SCOPES,
    description: '`partner` for a definition of the partner, which repeats for each organization',
  })
  sourceScope: string;

  @ApiProperty({ enum: ASSIGNMENT_LEVELS, description: 'Level of the target' })
  level: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Id of the partner, organization, site, group or device' })
  targetId: string | null;

  @ApiProperty({ ...NULLABLE_INTEGER, description: 'Priority among the assignments of a level' })
  priority: number | null;

  @ApiProperty({ ...ANY_JSON, description: 'Filter of device roles; null without one' })
  roleFilter: unknown;

  @ApiProperty({ ...ANY_JSON, description: 'Filter of operating systems; null without one' })
  osFilter: unknown;
}

class DependencyDto {
  @ApiProperty({ enum: ['scripts'], description: 'List of the record' })
  resource: string;

  @ApiProperty({ description: 'Id of the record in that list' })
  id: string;
}

export class AutomationRecordDto extends RecordDto {
  @ApiProperty({
    enum: SOURCE_SCOPES,
    description: '`partner` for a definition of the partner, which repeats for each organization',
  })
  sourceScope: string;

  @ApiProperty({ description: 'Name of the automation' })
  name: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Description, as its author wrote it' })
  description: string | null;

  @ApiProperty({ description: 'False while it is switched off' })
  enabled: boolean;

  @ApiProperty({ ...ANY_JSON, description: 'What starts it' })
  trigger: unknown;

  @ApiProperty({ ...ANY_JSON, description: 'What must hold for it to run' })
  conditions: unknown;

  @ApiProperty({ ...ANY_JSON_ITEMS, description: 'What it does, in order' })
  actions: unknown[];

  @ApiProperty({
    type: String,
    enum: FAILURE_REACTIONS,
    nullable: true,
    description: 'What happens when an action fails',
  })
  onFailure: string | null;

  @ApiProperty({ ...ANY_JSON, description: 'Who is notified' })
  notificationTargets: unknown;

  @ApiProperty({ type: [DependencyDto], description: 'Records that it refers to' })
  dependencies: DependencyDto[];
}

export class ScriptRecordDto extends RecordDto {
  @ApiProperty({
    enum: SOURCE_SCOPES,
    description: '`partner` for a definition of the partner, which repeats for each organization',
  })
  sourceScope: string;

  @ApiProperty({ description: 'Name of the script' })
  name: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Description, as its author wrote it' })
  description: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Category, as its author named it' })
  category: string | null;

  @ApiProperty({ type: [String], description: 'Operating systems that it runs on' })
  osTypes: string[];

  @ApiProperty({ description: 'Language of the script' })
  language: string;

  @ApiProperty({ maxLength: EXPORTED_SCRIPT_CHARACTERS, description: 'Source text' })
  content: string;

  @ApiProperty({ ...ANY_JSON, description: 'Parameters, as the script defines them' })
  parameters: unknown;

  @ApiProperty({ type: 'integer', description: 'Seconds after which a run is ended' })
  timeoutSeconds: number;

  @ApiProperty({ description: 'Account that it runs as' })
  runAs: string;

  @ApiProperty({ type: 'integer', description: 'Number of the version, from 1' })
  version: number;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string', nullable: true },
    nullable: true,
    description: 'Severity by exit code; null when none is set',
  })
  exitCodeSeverityMapping: Record<string, string | null> | null;
}

class CompletenessGapDto {
  @ApiProperty({ enum: COMPLETENESS_GAPS, description: 'What is missing' })
  code: string;
}

class BackupRecordDto extends RecordDto {
  @ApiProperty({
    enum: SOURCE_SCOPES,
    description: '`partner` for a definition of the partner, which repeats for each organization',
  })
  sourceScope: string;

  @ApiProperty({ description: 'Name of the destination, profile or policy' })
  name: string;

  @ApiProperty({ ...ANY_JSON, description: 'When it runs' })
  schedule: unknown;

  @ApiProperty({ ...ANY_JSON, description: 'How long backups are kept' })
  retention: unknown;

  @ApiProperty({ ...ANY_JSON_ITEMS, description: 'What is left out' })
  exclusions: unknown[];

  @ApiProperty({ type: [CompletenessGapDto], description: 'Information that the record lacks' })
  completenessGaps: CompletenessGapDto[];
}

export class BackupDestinationRecordDto extends BackupRecordDto {
  @ApiProperty({ enum: ['destination'], description: 'Kind of the record, which decides its other fields' })
  kind: string;

  @ApiProperty({ enum: BACKUP_DESTINATION_TYPES, description: 'What is backed up' })
  type: string;

  @ApiProperty({ enum: BACKUP_PROVIDERS, description: 'Where backups are stored' })
  provider: string;

  @ApiProperty({ ...ANY_JSON, description: 'Settings of the compression' })
  compression: unknown;

  @ApiProperty({ ...ANY_JSON, description: 'Settings of the encryption, without keys' })
  encryption: unknown;

  @ApiProperty({ ...NULLABLE_FLAG, description: 'False while it is switched off' })
  active: boolean | null;

  @ApiProperty({ ...NULLABLE_FLAG, description: 'True for the default destination' })
  default: boolean | null;
}

export class BackupProfileRecordDto extends BackupRecordDto {
  @ApiProperty({ enum: ['profile'], description: 'Kind of the record, which decides its other fields' })
  kind: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Description, as its author wrote it' })
  description: string | null;

  @ApiProperty({ ...NULLABLE_FLAG, description: 'False while it is switched off' })
  active: boolean | null;

  @ApiProperty({ ...ANY_JSON, description: 'What is backed up' })
  selections: unknown;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Destination that it writes to' })
  destinationId: string | null;
}

export class BackupPolicyRecordDto extends BackupRecordDto {
  @ApiProperty({ enum: ['policy'], description: 'Kind of the record, which decides its other fields' })
  kind: string;

  @ApiProperty({ description: 'False while it is switched off' })
  enabled: boolean;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Destination that it writes to' })
  destinationId: string | null;

  @ApiProperty({ ...ANY_JSON, description: 'Devices and sites that it applies to' })
  targets: unknown;

  @ApiProperty({ ...ANY_JSON, description: 'Daily, weekly, monthly and yearly backups to keep' })
  gfs: unknown;

  @ApiProperty({ ...NULLABLE_FLAG, description: 'True while backups must not be deleted' })
  // eslint-disable-next-line rmm/plain-identifiers -- the term of backup products
  legalHold: boolean | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Why backups must not be deleted' })
  // eslint-disable-next-line rmm/plain-identifiers -- the term of backup products
  legalHoldReason: string | null;

  @ApiProperty({ ...NULLABLE_NUMBER, description: 'Megabits a second; null without a limit' })
  bandwidthLimitMbps: number | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Time of day from which backups may run' })
  backupWindowStart: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Time of day until which backups may run' })
  backupWindowEnd: string | null;

  @ApiProperty({ ...NULLABLE_INTEGER, description: 'Priority among the policies' })
  priority: number | null;
}

export class CustomFieldRecordDto extends RecordDto {
  @ApiProperty({
    enum: SOURCE_SCOPES,
    description: '`partner` for a definition of the partner, which repeats for each organization',
  })
  sourceScope: string;

  @ApiProperty({ description: 'Name of the custom field' })
  name: string;

  @ApiProperty({ description: 'Key of the custom field' })
  fieldKey: string;

  @ApiProperty({ enum: EXPORTED_FIELD_TYPES, description: 'Type of the values' })
  type: string;

  @ApiProperty({ type: [String], description: 'Values of a `dropdown`; empty for other types' })
  options: string[];

  @ApiProperty({ description: 'True when every device should have a value' })
  required: boolean;

  @ApiProperty({ ...NULLABLE_SCALAR, description: 'Value of devices that have none' })
  defaultValue: string | number | boolean | null;

  @ApiProperty({ type: [String], description: 'Operating systems of the devices that have it; empty for all' })
  deviceTypes: string[];
}

class ValueTargetDto {
  @ApiProperty({ enum: ['device'], description: 'What has the value' })
  type: string;

  @ApiProperty({ format: 'uuid', description: 'Id of the device' })
  id: string;
}

export class CustomFieldValueRecordDto extends OmitType(RecordDto, ['id']) {
  @ApiProperty({ pattern: '^[0-9a-f-]{36}:[0-9a-f-]{36}$', description: 'The ids of the device and of the definition' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'Device of the record' })
  deviceId: string;

  @ApiProperty({ format: 'uuid', description: 'Definition of the custom field' })
  definitionId: string;

  @ApiProperty({ type: ValueTargetDto, description: 'What has the value' })
  target: ValueTargetDto;

  @ApiProperty({ description: 'Name of the custom field' })
  name: string;

  @ApiProperty({ description: 'Key of the custom field' })
  fieldKey: string;

  @ApiProperty({ enum: EXPORTED_FIELD_TYPES, description: 'Type of the value' })
  type: string;

  @ApiProperty({ ...NULLABLE_SCALAR, description: 'The value' })
  value: string | number | boolean | null;
}

export class ConfigurationPolicyPageDto extends ExportPageDto {
  @ApiProperty({ type: [ConfigurationPolicyRecordDto], description: 'Records of the page' })
  data: ConfigurationPolicyRecordDto[];
}

export class ConfigurationAssignmentPageDto extends ExportPageDto {
  @ApiProperty({ type: [ConfigurationAssignmentRecordDto], description: 'Records of the page' })
  data: ConfigurationAssignmentRecordDto[];
}

export class AutomationPageDto extends ExportPageDto {
  @ApiProperty({ type: [AutomationRecordDto], description: 'Records of the page' })
  data: AutomationRecordDto[];
}

export class ScriptPageDto extends ExportPageDto {
  @ApiProperty({ type: [ScriptRecordDto], description: 'Records of the page' })
  data: ScriptRecordDto[];
}

const BACKUPS = [BackupDestinationRecordDto, BackupProfileRecordDto, BackupPolicyRecordDto];

@ApiExtraModels(...BACKUPS)
export class BackupConfigurationPageDto extends ExportPageDto {
  @ApiProperty({ type: 'array', items: { oneOf: refs(...BACKUPS) }, description: 'Records of the page' })
  data: (BackupDestinationRecordDto | BackupProfileRecordDto | BackupPolicyRecordDto)[];
}

export class CustomFieldPageDto extends ExportPageDto {
  @ApiProperty({ type: [CustomFieldRecordDto], description: 'Records of the page' })
  data: CustomFieldRecordDto[];
}

export class CustomFieldValuePageDto extends ExportPageDto {
  @ApiProperty({ type: [CustomFieldValueRecordDto], description: 'Records of the page' })
  data: CustomFieldValueRecordDto[];
}
