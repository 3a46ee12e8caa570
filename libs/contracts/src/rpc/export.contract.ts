import { z } from 'zod';
import type {
  ExportedAutomation,
  ExportedBackupConfiguration,
  ExportedConfigurationAssignment,
  ExportedConfigurationPolicy,
  ExportedCustomField,
} from '../records/definition-records.js';
import type {
  ExportedDeviceInventory,
  ExportedDeviceRelationships,
  ExportedDeviceSoftware,
} from '../records/device-records.js';
import { actingPartnerKeySchema } from './acting-caller.contract.js';
import { timestamp, uuid } from './fields.js';
import { replyOf, rpc } from './rpc-contract.js';

/** A record's id: a UUID, or for a custom field value the ids of its device and definition. */
const recordId = z.string().regex(/^[0-9a-f-]{36}(:[0-9a-f-]{36})?$/i);

/** One page of the export of one resource of a partner. @see docs/reference/partner-interface.md */
const exportRequest = z.object({
  caller: actingPartnerKeySchema,
  orgId: uuid.nullable(),
  /** Absent for resources without sites. */
  siteId: uuid.nullish(),
  /** Null on the first page: provisioning then takes the time of its database. */
  snapshotAt: timestamp.nullable(),
  updatedSince: timestamp.nullable(),
  /** Position of the last record of the page before. */
  after: z.object({ id: recordId, orgId: uuid, updatedAt: timestamp }).nullable(),
  limit: z.int().min(1).max(500),
});
export type ExportRequest = z.infer<typeof exportRequest>;

/** Columns of every record. */
export interface ExportedBase {
  id: string;
  orgId: string;
  siteId: string | null;
  sourceUpdatedAt: string;
  /** The local stamp by which incremental exports are ordered; `sourceUpdatedAt` when absent. */
  changedAt?: string;
}

export interface ExportReply<T> {
  snapshotAt: string;
  records: (T & ExportedBase)[];
  hasMore: boolean;
}

export interface ExportedOrganization {
  name: string;
  slug: string;
  type: 'customer' | 'internal';
  status: 'active' | 'trial';
}

export interface ExportedSite {
  name: string;
  timezone: string;
  address: Record<'line1' | 'line2' | 'city' | 'region' | 'postalCode' | 'country', string | null> | null;
  contact: Record<'name' | 'email' | 'phone', string | null> | null;
}

export interface ExportedDevice {
  hostname: string;
  displayName: string | null;
  osType: string;
  osVersion: string | null;
  architecture: string | null;
  deviceRole: string | null;
  isVirtual: boolean | null;
  virtualizationPlatform: string | null;
  enrolledAt: string | null;
  serialNumber: string | null;
  manufacturer: string | null;
  model: string | null;
  assetTag: string | null;
  inventoryId: string | null;
  externalId: string | null;
  tags: string[];
  /** The first ones; `groupTotal` is the number of all. */
  groupIds: string[];
  groupTotal: number;
}

export interface ExportedScript {
  sourceScope: 'organization' | 'partner';
  name: string;
  description: string | null;
  category: string | null;
  osTypes: string[];
  language: string;
  /** Cut after `EXPORTED_SCRIPT_CHARACTERS` and one more character. */
  content: string;
  parameters: object | null;
  timeoutSeconds: number;
  runAs: string;
  version: number;
  exitCodeSeverityMapping: Record<string, string | null> | null;
}

/** The longest content of a script that is exported, in characters. */
export const EXPORTED_SCRIPT_CHARACTERS = 12_288;

export interface ExportedCustomFieldValue {
  deviceId: string;
  definitionId: string;
  name: string;
  fieldKey: string;
  type: string;
  value: string | number | boolean | null;
}

const exportOf = <T>(resource: string) =>
  rpc(`provisioning.export.${resource}`, {
    request: exportRequest,
    reply: replyOf<ExportReply<T>>(),
    timeoutMs: 10_000,
    idempotent: true,
  });

export const PROVISIONING_EXPORT_ORGANIZATIONS = exportOf<ExportedOrganization>('organizations');
export const PROVISIONING_EXPORT_SITES = exportOf<ExportedSite>('sites');
export const PROVISIONING_EXPORT_DEVICES = exportOf<ExportedDevice>('devices');
export const PROVISIONING_EXPORT_DEVICE_INVENTORY = exportOf<ExportedDeviceInventory>('device-inventory');
export const PROVISIONING_EXPORT_DEVICE_SOFTWARE = exportOf<ExportedDeviceSoftware>('device-software');
export const PROVISIONING_EXPORT_DEVICE_RELATIONSHIPS = exportOf<ExportedDeviceRelationships>('device-relationships');
export const PROVISIONING_EXPORT_CONFIGURATION_POLICIES =
  exportOf<ExportedConfigurationPolicy>('configuration-policies');
export const PROVISIONING_EXPORT_CONFIGURATION_ASSIGNMENTS =
  exportOf<ExportedConfigurationAssignment>('configuration-assignments');
export const PROVISIONING_EXPORT_AUTOMATIONS = exportOf<ExportedAutomation>('automations');
export const PROVISIONING_EXPORT_SCRIPTS = exportOf<ExportedScript>('scripts');
export const PROVISIONING_EXPORT_BACKUP_CONFIGURATIONS = exportOf<ExportedBackupConfiguration>('backup-configurations');
export const PROVISIONING_EXPORT_CUSTOM_FIELDS = exportOf<ExportedCustomField>('custom-fields');
export const PROVISIONING_EXPORT_CUSTOM_FIELD_VALUES = exportOf<ExportedCustomFieldValue>('custom-field-values');
