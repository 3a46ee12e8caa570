import { z } from 'zod';
import { actingPartnerKeySchema } from './acting-caller.contract.js';
import { timestamp, uuid } from './fields.js';
import { replyOf, rpc } from './rpc-contract.js';

/** One page of the export of one resource of a partner. @see docs/reference/partner-interface.md */
const exportRequest = z.object({
  caller: actingPartnerKeySchema,
  orgId: uuid.nullable(),
  /** Null on the first page: provisioning then takes the time of its database. */
  snapshotAt: timestamp.nullable(),
  updatedSince: timestamp.nullable(),
  /** Position of the last record of the page before. */
  after: z.object({ id: uuid, orgId: uuid, updatedAt: timestamp }).nullable(),
  limit: z.int().min(1).max(500),
});
export type ExportRequest = z.infer<typeof exportRequest>;

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

export const PROVISIONING_EXPORT_ORGANIZATIONS = rpc('provisioning.export.organizations', {
  request: exportRequest,
  reply: replyOf<ExportReply<ExportedOrganization>>(),
  timeoutMs: 10_000,
  idempotent: true,
});

export const PROVISIONING_EXPORT_SITES = rpc('provisioning.export.sites', {
  request: exportRequest,
  reply: replyOf<ExportReply<ExportedSite>>(),
  timeoutMs: 10_000,
  idempotent: true,
});
