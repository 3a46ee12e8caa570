import { z } from 'zod';
import type { OrganizationState } from '../integration-events/organization.events.js';
import type { SiteState } from '../integration-events/site.events.js';
import { actingCallerSchema } from './acting-caller.contract.js';
import { uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/** Returns the organizations that exist, for a directory that does not know them yet. */
export const PROVISIONING_ORGANIZATIONS_GET = rpc('provisioning.organizations.get', {
  request: z.object({ orgIds: z.array(uuid).max(1_000) }),
  reply: replyOf<{ organizations: OrganizationState[] }>(),
  idempotent: true,
});

/** Returns the organizations after an id, ordered by it, soft-deleted ones included: directories are compared with this list. */
export const PROVISIONING_ORGANIZATIONS_LIST_SINCE = rpc('provisioning.organizations.list-since', {
  request: z.object({ after: uuid.nullable(), limit: z.int().min(1).max(1_000) }),
  reply: replyOf<{ organizations: OrganizationState[]; next: string | null }>(),
  timeoutMs: 10_000,
  idempotent: true,
});
export type ListSinceRequest = RpcRequest<typeof PROVISIONING_ORGANIZATIONS_LIST_SINCE>;

/** Creates the first organization of a partner and its site at sign-up; idempotent per partner. */
export const PROVISIONING_ORGANIZATIONS_ENSURE_FIRST = rpc('provisioning.organizations.ensure-first', {
  request: z.object({ partnerId: uuid, companyName: z.string().min(1).max(255), partnerSlug: z.string().max(255) }),
  reply: replyOf<{ organization: OrganizationState; site: SiteState }>(),
});

/** Returns a live site of an organization; null when there is none that the caller may see. */
export const PROVISIONING_SITES_GET = rpc('provisioning.sites.get', {
  request: z.object({ caller: actingCallerSchema, orgId: uuid, siteId: uuid }),
  reply: replyOf<{ site: SiteState | null }>(),
  idempotent: true,
});

/** Returns which of these are live sites of the organization that the caller may see. */
export const PROVISIONING_SITES_EXISTING = rpc('provisioning.sites.existing', {
  request: z.object({ caller: actingCallerSchema, orgId: uuid, siteIds: z.array(uuid).max(1_000) }),
  reply: replyOf<{ siteIds: string[] }>(),
  idempotent: true,
});
