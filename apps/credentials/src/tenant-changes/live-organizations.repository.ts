import type { Condition } from '@rmm/persistence';

/** Returns the condition that the organization of a row is neither suspended nor deleted. @param alias of the entity */
export const inLiveOrganization = (alias: string): Condition => ({
  sql: `EXISTS (SELECT 1 FROM organization_directory o
    WHERE ${alias}.orgId = o.org_id AND ${alias}.partnerId = o.partner_id
      AND o.status IN ('active', 'trial') AND NOT o.deleted)`,
});
