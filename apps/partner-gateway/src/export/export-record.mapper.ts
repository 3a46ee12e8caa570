import { hash } from 'node:crypto';
import {
  type ExportedOrganization,
  type ExportedSite,
  type ExportReply,
  type ExportRequest,
  PROVISIONING_EXPORT_ORGANIZATIONS,
  PROVISIONING_EXPORT_SITES,
  type RpcContract,
} from '@rmm/contracts';
import { canonicalJson } from '@rmm/validation';
import { pickFields } from './resources/collection.js';
import type { WithholdingOptions } from './withholding/withheld-record.js';

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

export type RecordSource<T> = ExportReply<T>['records'][number];

/** One list of the partner interface: the request to the owner of the data, the fields to export, and what to withhold. */
export interface ExportResource<T = unknown> extends WithholdingOptions {
  /** The path below `/partner-api`, at which the OpenAPI document has the schema of the records. */
  name: string;
  defaultLimit: number;
  /** Takes the parameter `siteId`. */
  hasSites?: true;
  contract: RpcContract<ExportRequest, ExportReply<T>>;
  fieldsOf: (source: RecordSource<T>) => object;
}

export const ORGANIZATIONS: ExportResource<ExportedOrganization> = {
  name: 'organizations',
  defaultLimit: 500,
  contract: PROVISIONING_EXPORT_ORGANIZATIONS,
  fieldsOf: ({ name, slug, type, status }) => ({ name, slug, type, status }),
};

export const ADDRESS_FIELDS = ['line1', 'line2', 'city', 'region', 'postalCode', 'country'] as const;
export const CONTACT_FIELDS = ['name', 'email', 'phone'] as const;

export const SITES: ExportResource<ExportedSite> = {
  name: 'sites',
  defaultLimit: 100,
  contract: PROVISIONING_EXPORT_SITES,
  fieldsOf: ({ name, timezone, address, contact }) => ({
    name,
    timezone,
    address: address && pickFields(address, ADDRESS_FIELDS),
    contact: contact && pickFields(contact, CONTACT_FIELDS),
  }),
};

/** A record as it is sent: the text whose SHA-256 is the revision, and the revision as its last field. */
export interface SerializedRecord {
  revision: string;
  json: string;
}

/**
 * Returns the exported record: the named fields only, null for unknown values.
 * @throws Error when a field that is never null is missing
 */
export function toRecord<T>(
  resource: ExportResource<T>,
  source: RecordSource<T>,
): { record: RecordBase; json: string } {
  const { id, orgId, siteId, sourceUpdatedAt } = source;
  const record = { id, orgId, siteId, sourceUpdatedAt, ...resource.fieldsOf(source) };
  const missing = Object.keys(record).find((name) => record[name as keyof typeof record] === undefined);
  if (missing !== undefined) throw new Error(`A record of ${resource.name} has no ${missing}`);
  const canonical = canonicalJson(record);
  const revision = revisionOf(canonical);
  return { record: Object.assign(record, { revision }), json: `${canonical.slice(0, -1)},"revision":"${revision}"}` };
}

/** Returns the SHA-256 of the canonical JSON of a record, 64 hex digits. */
export function revisionOf(canonical: string): string {
  return hash('sha256', canonical, 'hex');
}
