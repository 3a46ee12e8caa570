import { rpc } from './rpc-contract.js';

/** A page of a walk over one resource of one partner. Times are ISO 8601. @see CONTRACT.md 4.4.2 */
export interface ExportRequest {
  partnerId: string;
  orgId: string | null;
  /** Null on page one: provisioning then takes it from the database clock. */
  snapshotAt: string | null;
  updatedSince: string | null;
  after: { id: string; orgId: string; updatedAt: string } | null;
  /** 1 to 500. */
  limit: number;
}

export interface ExportReply<T> {
  snapshotAt: string;
  records: (T & { id: string; orgId: string; siteId: string | null; sourceUpdatedAt: string })[];
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

export const PROVISIONING_EXPORT_ORGANIZATIONS = rpc<ExportRequest, ExportReply<ExportedOrganization>>(
  'provisioning.export.organizations',
  10_000,
);
export const PROVISIONING_EXPORT_SITES = rpc<ExportRequest, ExportReply<ExportedSite>>(
  'provisioning.export.sites',
  10_000,
);
