import {
  EXPORTED_SCRIPT_CHARACTERS,
  type ExportedAutomation,
  type ExportedBackupConfiguration,
  type ExportedConfigurationAssignment,
  type ExportedConfigurationPolicy,
  type ExportedCustomField,
  type ExportedCustomFieldValue,
  type ExportedScript,
  PROVISIONING_EXPORT_AUTOMATIONS,
  PROVISIONING_EXPORT_BACKUP_CONFIGURATIONS,
  PROVISIONING_EXPORT_CONFIGURATION_ASSIGNMENTS,
  PROVISIONING_EXPORT_CONFIGURATION_POLICIES,
  PROVISIONING_EXPORT_CUSTOM_FIELD_VALUES,
  PROVISIONING_EXPORT_CUSTOM_FIELDS,
  PROVISIONING_EXPORT_SCRIPTS,
} from '@rmm/contracts';
import type { ExportResource } from '../export-record.mapper.js';
import { pickFields } from './collection.js';

const ASSIGNMENT = [
  'policyId',
  'policyName',
  'sourceScope',
  'level',
  'targetId',
  'priority',
  'roleFilter',
  'osFilter',
] as const;
const AUTOMATION = [
  ...(['sourceScope', 'name', 'description', 'enabled', 'trigger', 'conditions', 'actions', 'onFailure'] as const),
  'notificationTargets',
] as const;
const SCRIPT = [
  ...(['sourceScope', 'name', 'description', 'category', 'osTypes', 'language', 'content', 'parameters'] as const),
  ...(['timeoutSeconds', 'runAs', 'version', 'exitCodeSeverityMapping'] as const),
] as const;
const CUSTOM_FIELD = [
  'sourceScope',
  'name',
  'fieldKey',
  'type',
  'options',
  'required',
  'defaultValue',
  'deviceTypes',
] as const;

const EVERY_BACKUP = ['kind', 'sourceScope', 'name', 'schedule', 'retention', 'exclusions'] as const;
const DESTINATION = ['type', 'provider', 'compression', 'encryption', 'active', 'default'] as const;
const PROFILE = ['description', 'active', 'selections', 'destinationId'] as const;
const POLICY = [
  ...(['enabled', 'destinationId', 'targets', 'gfs', 'legalHold', 'legalHoldReason', 'bandwidthLimitMbps'] as const),
  ...(['backupWindowStart', 'backupWindowEnd', 'priority'] as const),
] as const;

export const CONFIGURATION_POLICIES: ExportResource<ExportedConfigurationPolicy> = {
  name: 'configuration-policies',
  defaultLimit: 100,
  contract: PROVISIONING_EXPORT_CONFIGURATION_POLICIES,
  fieldsOf: (policy) => ({
    ...pickFields(policy, ['sourceScope', 'name', 'description', 'status']),
    features: policy.features.map((feature) => pickFields(feature, ['id', 'type', 'policyId', 'settings'])),
  }),
};

export const CONFIGURATION_ASSIGNMENTS: ExportResource<ExportedConfigurationAssignment> = {
  name: 'configuration-assignments',
  defaultLimit: 100,
  contract: PROVISIONING_EXPORT_CONFIGURATION_ASSIGNMENTS,
  fieldsOf: (assignment) => pickFields(assignment, ASSIGNMENT),
};

export const AUTOMATIONS: ExportResource<ExportedAutomation> = {
  name: 'automations',
  defaultLimit: 100,
  contract: PROVISIONING_EXPORT_AUTOMATIONS,
  fieldsOf: (automation) => ({
    ...pickFields(automation, AUTOMATION),
    dependencies: automation.dependencies.map((each) => pickFields(each, ['resource', 'id'])),
  }),
};

export const SCRIPTS: ExportResource<ExportedScript> = {
  name: 'scripts',
  defaultLimit: 100,
  maxCharacters: { content: EXPORTED_SCRIPT_CHARACTERS },
  contract: PROVISIONING_EXPORT_SCRIPTS,
  fieldsOf: (script) => pickFields(script, SCRIPT),
};

export const BACKUP_CONFIGURATIONS: ExportResource<ExportedBackupConfiguration> = {
  name: 'backup-configurations',
  defaultLimit: 100,
  contract: PROVISIONING_EXPORT_BACKUP_CONFIGURATIONS,
  fieldsOf: (backup) => ({
    ...pickFields(backup, EVERY_BACKUP),
    completenessGaps: backup.completenessGaps.map((gap) => pickFields(gap, ['code'])),
    ...ofKind(backup),
  }),
};

function ofKind(backup: ExportedBackupConfiguration): object {
  switch (backup.kind) {
    case 'destination':
      return pickFields(backup, DESTINATION);
    case 'profile':
      return pickFields(backup, PROFILE);
    case 'policy':
      return pickFields(backup, POLICY);
  }
}

export const CUSTOM_FIELDS: ExportResource<ExportedCustomField> = {
  name: 'custom-fields',
  defaultLimit: 100,
  contract: PROVISIONING_EXPORT_CUSTOM_FIELDS,
  fieldsOf: (field) => pickFields(field, CUSTOM_FIELD),
};

export const CUSTOM_FIELD_VALUES: ExportResource<ExportedCustomFieldValue> = {
  name: 'custom-field-values',
  defaultLimit: 100,
  contract: PROVISIONING_EXPORT_CUSTOM_FIELD_VALUES,
  fieldsOf: ({ deviceId, definitionId, name, fieldKey, type, value }) => ({
    deviceId,
    definitionId,
    target: { type: 'device', id: deviceId },
    name,
    fieldKey,
    type,
    value,
  }),
};
