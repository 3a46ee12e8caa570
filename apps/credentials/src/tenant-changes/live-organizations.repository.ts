import type { Condition, ListedOrganizations } from '@rmm/persistence';

const IS_LIVE = `o.status IN ('active', 'trial') AND NOT o.deleted`;

/** Returns the condition that the organization of a row is neither suspended nor deleted. @param alias of the entity */
export const inLiveOrganization = (alias: string): Condition => ({
  sql: `EXISTS (SELECT 1 FROM organization_directory o
    WHERE ${alias}.orgId = o.org_id AND ${alias}.partnerId = o.partner_id AND ${IS_LIVE})`,
});

/** Returns the organizations of a list that has the condition of `inLiveOrganization`. */
export const liveOrganizations = (alias: string): ListedOrganizations => ({
  table: 'organization_directory',
  id: 'org_id',
  condition: IS_LIVE,
  sameOfRow: inLiveOrganization(alias),
});
