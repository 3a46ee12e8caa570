import type { Condition } from '@rmm/persistence';

/** Returns the condition that the organization of a row is neither suspended nor deleted. @param alias of the entity */
export const inLiveOrganization = (alias: string): Condition => ({
  sql: `EXISTS (SELECT 1 FROM organization_directory o
    WHERE o.org_id = ${alias}.orgId AND o.status IN ('active', 'trial') AND NOT o.deleted)`,
});
