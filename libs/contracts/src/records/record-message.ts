import { z } from 'zod';
import {
  automationRecord,
  backupConfigurationRecord,
  configurationAssignmentRecord,
  configurationPolicyRecord,
  customFieldRecord,
} from './definition-records.js';
import { deviceInventoryRecord, deviceRelationshipsRecord, deviceSoftwareRecord } from './device-records.js';
import { itemId, optionalUuid, uuid } from './record-fields.js';

/** The records that other services publish for export, by resource. @see docs/reference/events.md#records-for-export */
export const RECORD_SCHEMAS = {
  'device-inventory': deviceInventoryRecord,
  'device-software': deviceSoftwareRecord,
  'device-relationships': deviceRelationshipsRecord,
  'configuration-policies': configurationPolicyRecord,
  'configuration-assignments': configurationAssignmentRecord,
  automations: automationRecord,
  'backup-configurations': backupConfigurationRecord,
  'custom-fields': customFieldRecord,
} as const;
export type RecordResource = keyof typeof RECORD_SCHEMAS;

/** Resources whose records are about a device or a site: they always belong to an organization. */
export const DEVICE_RESOURCES = ['device-inventory', 'device-software', 'device-relationships'] as const;

export const RECORD_SCHEMA_VERSION = 1;

/** A message of RMM_RECORDS without its record, whose schema depends on the resource. */
export const recordMessageSchema = z.object({
  schemaVersion: z.literal(RECORD_SCHEMA_VERSION),
  messageId: itemId,
  resource: z.string(),
  id: uuid,
  partnerId: uuid,
  /** Null for a record of the partner, which all its organizations have. */
  orgId: optionalUuid,
  siteId: optionalUuid,
  deviceId: optionalUuid,
  updatedAt: z.iso.datetime({ offset: true }),
  /** Absent on deletion. */
  record: z.unknown().optional(),
});
export type RecordMessage = z.output<typeof recordMessageSchema>;

/** The most items of a collection of a record that are exported. */
export const COLLECTION_LIMITS = { items: 500, software: 1_000, tags: 200, dnsServers: 20 } as const;
