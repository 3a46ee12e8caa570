import {
  COLLECTION_LIMITS,
  DEVICE_RESOURCES,
  RECORD_SCHEMA_VERSION,
  RECORD_SCHEMAS,
  recordMessageSchema,
  type ExportedDeviceInventory,
  type ExportedDeviceRelationships,
  type ExportedDeviceSoftware,
  type RecordMessage,
  type RecordResource,
} from '@rmm/contracts';
import { isStorableJson } from '@rmm/validation';

/** A record as it is stored: of a device, of a site, of an organization or of the partner. */
export interface PublishedRecord {
  resource: RecordResource;
  id: string;
  partnerId: string;
  orgId: string | null;
  siteId: string | null;
  deviceId: string | null;
  updatedAt: Date;
  /** Null for a deleted record. */
  record: object | null;
}

export type ReadRecord = { ok: true; record: PublishedRecord } | { ok: false; reason: string };

/** A publisher with a clock further ahead would keep every other one from changing the record. */
const MAX_AHEAD_MS = 24 * 60 * 60 * 1_000;
const MAX_RECORD_BYTES = 500_000;

const refuse = (reason: string): ReadRecord => ({ ok: false, reason });
const isResource = (name: string): name is RecordResource => Object.hasOwn(RECORD_SCHEMAS, name);
const isOfDevice = (resource: RecordResource): boolean => (DEVICE_RESOURCES as readonly string[]).includes(resource);

/** Checks a message of RMM_RECORDS by its format and by the fields of its resource, and completes absent fields with null. */
export function readRecordMessage(
  { resource, change }: { resource: string; change: string },
  data: Readonly<Record<string, unknown>>,
  now: Date,
): ReadRecord {
  if (data['schemaVersion'] !== RECORD_SCHEMA_VERSION) return refuse('unknown schemaVersion');
  if (!isResource(resource)) return refuse('unknown resource');
  const { success, data: message, error } = recordMessageSchema.safeParse(data);
  if (!success) return refuse(describe('message', error));
  const updatedAt = new Date(message.updatedAt);
  if (updatedAt.getTime() < 0) return refuse('updatedAt is before 1970');
  if (updatedAt.getTime() > now.getTime() + MAX_AHEAD_MS) return refuse('updatedAt lies in the future');
  if (message.orgId === null && (message.siteId ?? message.deviceId) !== null) {
    return refuse('a record of the partner has no site and no device');
  }
  const { id, partnerId, orgId, siteId } = message;
  const base = { resource, id, partnerId, orgId, siteId, deviceId: null, updatedAt };
  return change === 'delete' ? { ok: true, record: { ...base, record: null } } : readFields(base, message);
}

function readFields(base: Omit<PublishedRecord, 'record'>, message: RecordMessage): ReadRecord {
  if (!isStorableJson(message.record)) return refuse('invalid record: cannot be stored');
  const { success, data: fields, error } = RECORD_SCHEMAS[base.resource].safeParse(message.record);
  if (!success) return refuse(describe('record', error));
  const read = isOfDevice(base.resource) ? readDeviceFields(base, message, fields) : { ...base, record: fields };
  if (typeof read === 'string') return refuse(`invalid record: ${read}`);
  if (Buffer.byteLength(JSON.stringify(read.record)) > MAX_RECORD_BYTES) return refuse('invalid record: too large');
  return { ok: true, record: read };
}

/** Names the device or the site of a record, which its message may name as well. @returns the problem, if there is one */
function readDeviceFields(
  base: Omit<PublishedRecord, 'record'>,
  message: RecordMessage,
  fields: object,
): PublishedRecord | string {
  if (base.orgId === null) return 'orgId is required';
  const named = fields as { subjectType?: string; deviceId?: string | null; siteSubjectId?: string | null };
  const deviceId = named.deviceId ?? message.deviceId;
  const siteId = named.siteSubjectId ?? message.siteId;
  const isOfSite = named.subjectType === 'site' || (named.subjectType === undefined && deviceId === null);
  if (isOfSite) {
    if (siteId === null) return 'siteSubjectId is required';
    if (message.siteId !== null && message.siteId !== siteId) return 'siteId and siteSubjectId differ';
    const record = { ...withinLimits(base.resource, fields), siteSubjectId: siteId };
    return { ...base, siteId, record };
  }
  if (deviceId === null) return 'deviceId is required';
  if (message.deviceId !== null && message.deviceId !== deviceId) return 'deviceId differs from that of the message';
  return { ...base, siteId: null, deviceId, record: { ...withinLimits(base.resource, fields), deviceId } };
}

/** Cuts collections to the items that are exported, with the number of all. */
function withinLimits(resource: RecordResource, fields: object): object {
  if (resource === 'device-software') {
    const record = fields as ExportedDeviceSoftware;
    return { ...record, ...cutOne(record, 'software', COLLECTION_LIMITS.software) };
  }
  if (resource === 'device-relationships') {
    const record = fields as ExportedDeviceRelationships;
    return { ...record, ...cutOne(record, 'edges', COLLECTION_LIMITS.items) };
  }
  const { collections, ...record } = fields as ExportedDeviceInventory;
  const lists = record as Record<string, unknown>;
  const totals: Record<string, { total: number }> = {};
  for (const [name, given] of Object.entries(collections as Record<string, { total: number } | null>)) {
    const items = lists[name] as unknown[];
    totals[name] = { total: Math.max(given?.total ?? 0, items.length) };
    lists[name] = items.slice(0, COLLECTION_LIMITS.items);
  }
  return { ...record, collections: totals };
}

function cutOne<K extends string>(
  record: { collection: { total: number } | null } & Record<K, unknown[]>,
  name: K,
  max: number,
): object {
  const items: unknown[] = record[name];
  const total = Math.max(record.collection?.total ?? 0, items.length);
  return { [name]: items.slice(0, max), collection: { total } };
}

/** Names the first field that is wrong, without its value. */
function describe(part: string, error: { issues: { path: PropertyKey[]; message: string }[] }): string {
  const [issue] = error.issues;
  const path = issue?.path.map(String).join('.') ?? '';
  return `invalid ${part}: ${path === '' ? '' : `${path.slice(0, 200)}: `}${(issue?.message ?? 'malformed').slice(0, 200)}`;
}
