import {
  type ExportedOrganization,
  type ExportedSite,
  type ExportReply,
  type ExportRequest,
  PROVISIONING_EXPORT_ORGANIZATIONS,
  PROVISIONING_EXPORT_SITES,
  type RpcContract,
} from '@rmm/contracts';
import { revisionOf } from './canonical-json.js';

/** The fields of every record. */
export interface RecordBase {
  id: string;
  orgId: string;
  siteId: string | null;
  /** ISO 8601. */
  sourceUpdatedAt: string;
  /** SHA-256 hex of the rest of the record. */
  revision: string;
}

type Source<T> = ExportReply<T>['records'][number];

/** One list of the partner interface: the request to the owner of the data, and the fields to export. */
export interface ExportResource<T = unknown> {
  name: string;
  defaultLimit: number;
  contract: RpcContract<ExportRequest, ExportReply<T>>;
  fieldsOf: (source: Source<T>) => object;
}

export const ORGANIZATIONS: ExportResource<ExportedOrganization> = {
  name: 'organizations',
  defaultLimit: 500,
  contract: PROVISIONING_EXPORT_ORGANIZATIONS,
  fieldsOf: ({ name, slug, type, status }) => ({ name, slug, type, status }),
};

export const SITES: ExportResource<ExportedSite> = {
  name: 'sites',
  defaultLimit: 100,
  contract: PROVISIONING_EXPORT_SITES,
  fieldsOf: ({ name, timezone, address, contact }) => ({
    name,
    timezone,
    address: address && pick(address, ['line1', 'line2', 'city', 'region', 'postalCode', 'country']),
    contact: contact && pick(contact, ['name', 'email', 'phone']),
  }),
};

/**
 * Returns the exported record: the named fields only, null for unknown values.
 * @throws Error when a field that is never null is missing
 */
export function toRecord<T>(resource: ExportResource<T>, source: Source<T>): RecordBase {
  const { id, orgId, siteId, sourceUpdatedAt } = source;
  const record = { id, orgId, siteId, sourceUpdatedAt, ...resource.fieldsOf(source) };
  for (const [name, value] of Object.entries(record)) {
    if (value === undefined) throw new Error(`A record of ${resource.name} has no ${name}`);
  }
  return { ...record, revision: revisionOf(record) };
}

function pick<K extends string>(from: Readonly<Partial<Record<K, string | null>>>, names: readonly K[]): object {
  return Object.fromEntries(names.map((name) => [name, from[name] ?? null]));
}
