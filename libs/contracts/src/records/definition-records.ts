import { z } from 'zod';
import {
  flag,
  integer,
  itemId,
  json,
  list,
  name,
  number,
  oneOf,
  optionalId,
  optionalOneOf,
  sourceScope,
  text,
} from './record-fields.js';

export const POLICY_STATUSES = ['active', 'inactive', 'archived'] as const;
export const ASSIGNMENT_LEVELS = ['partner', 'organization', 'site', 'device_group', 'device'] as const;
export const FAILURE_REACTIONS = ['stop', 'continue', 'notify'] as const;
export const BACKUP_DESTINATION_TYPES = ['file', 'system_image', 'database', 'application'] as const;
export const BACKUP_PROVIDERS = ['local', 's3', 'azure_blob', 'google_cloud', 'backblaze'] as const;
export const COMPLETENESS_GAPS = ['restore_procedure_unavailable'] as const;
export const EXPORTED_FIELD_TYPES = ['text', 'number', 'boolean', 'dropdown', 'date'] as const;

const DESCRIPTION = 10_000;

export const configurationPolicyRecord = z.object({
  sourceScope,
  name,
  description: text(DESCRIPTION),
  status: oneOf(POLICY_STATUSES),
  features: list(z.object({ id: itemId, type: name, policyId: optionalId, settings: json })),
});
export type ExportedConfigurationPolicy = z.output<typeof configurationPolicyRecord>;

export const configurationAssignmentRecord = z.object({
  policyId: itemId,
  policyName: text(),
  sourceScope,
  level: oneOf(ASSIGNMENT_LEVELS),
  targetId: optionalId,
  priority: integer,
  roleFilter: json,
  osFilter: json,
});
export type ExportedConfigurationAssignment = z.output<typeof configurationAssignmentRecord>;

export const automationRecord = z.object({
  sourceScope,
  name,
  description: text(DESCRIPTION),
  enabled: z.boolean(),
  trigger: json,
  conditions: json,
  actions: list(z.unknown()),
  onFailure: optionalOneOf(FAILURE_REACTIONS),
  notificationTargets: json,
  dependencies: list(z.object({ resource: z.literal('scripts'), id: itemId })),
});
export type ExportedAutomation = z.output<typeof automationRecord>;

const ofEveryBackup = {
  sourceScope,
  name,
  schedule: json,
  retention: json,
  exclusions: list(z.unknown()),
  /** No backup configuration says how to restore. */
  completenessGaps: z.preprocess(
    (value) => value ?? COMPLETENESS_GAPS.map((code) => ({ code })),
    z.array(z.object({ code: oneOf(COMPLETENESS_GAPS) })),
  ),
};

export const backupConfigurationRecord = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('destination'),
    ...ofEveryBackup,
    type: oneOf(BACKUP_DESTINATION_TYPES),
    provider: oneOf(BACKUP_PROVIDERS),
    compression: json,
    encryption: json,
    active: flag,
    default: flag,
  }),
  z.object({
    kind: z.literal('profile'),
    ...ofEveryBackup,
    description: text(DESCRIPTION),
    active: flag,
    selections: json,
    destinationId: optionalId,
  }),
  z.object({
    kind: z.literal('policy'),
    ...ofEveryBackup,
    enabled: z.boolean(),
    destinationId: optionalId,
    targets: json,
    gfs: json,
    legalHold: flag,
    legalHoldReason: text(DESCRIPTION),
    bandwidthLimitMbps: number,
    backupWindowStart: text(64),
    backupWindowEnd: text(64),
    priority: integer,
  }),
]);
export type ExportedBackupConfiguration = z.output<typeof backupConfigurationRecord>;

const fieldValue = z.union([z.string().max(10_000), z.number().finite(), z.boolean()]);

export const customFieldRecord = z.object({
  sourceScope,
  name,
  fieldKey: z.string().min(1).max(100),
  type: oneOf(EXPORTED_FIELD_TYPES),
  options: list(z.string().min(1).max(255)),
  required: z.boolean(),
  defaultValue: fieldValue.nullish().transform((value) => value ?? null),
  deviceTypes: list(z.string().min(1).max(64)),
});
export type ExportedCustomField = z.output<typeof customFieldRecord>;
