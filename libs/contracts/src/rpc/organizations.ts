import type { OrganizationState } from '../integration-events/organization-events.js';
import type { SiteState } from '../integration-events/site-events.js';
import { rpc } from './rpc-contract.js';

/** Read-through of a directory on a miss. */
export const PROVISIONING_ORGANIZATIONS_GET = rpc<{ orgIds: string[] }, { organizations: OrganizationState[] }>(
  'provisioning.organizations.get',
);

/** Rebuilds a directory: everything after a position, oldest first, at most `limit` (1 to 1000). */
export interface ListSinceRequest {
  after: string | null;
  limit: number;
}

export const PROVISIONING_ORGANIZATIONS_LIST_SINCE = rpc<
  ListSinceRequest,
  { organizations: OrganizationState[]; next: string | null }
>('provisioning.organizations.list-since', 10_000);

/** Sign-up: the first organization and its site; idempotent per partner. */
export const PROVISIONING_ORGANIZATIONS_ENSURE_FIRST = rpc<
  { partnerId: string; companyName: string; partnerSlug: string },
  { organization: OrganizationState; site: SiteState }
>('provisioning.organizations.ensure-first');

/** Does this site belong to this organization? Null when it does not exist there. */
export const PROVISIONING_SITES_GET = rpc<{ orgId: string; siteId: string }, { site: SiteState | null }>(
  'provisioning.sites.get',
);

/** Which of these sites stand in this organization. At most 1000. */
export const PROVISIONING_SITES_EXISTING = rpc<{ orgId: string; siteIds: string[] }, { siteIds: string[] }>(
  'provisioning.sites.existing',
);
