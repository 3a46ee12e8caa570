import { OrganizationAccessDenied } from '@rmm/access';
import type { SqlExecutor } from '@rmm/persistence';

/** Who owns an organization that a request names. */
export interface ReachableOrganization {
  id: string;
  partnerId: string;
}

/** In business, for an organization `o`: only then are its sites and devices within reach. @see CONTRACT.md 2.4 */
export const LIVE = `o.deleted_at is null and o.status in ('active', 'trial')`;

/**
 * The organization a query or body names, as row-level security shows it to the caller.
 * @throws OrganizationAccessDenied  403: foreign, unknown and inactive ones look the same
 * @see CONTRACT.md 1.5
 */
export async function assertOrganizationAccess(sql: SqlExecutor, orgId: string): Promise<ReachableOrganization> {
  const [row] = await sql.query<ReachableOrganization>(
    `select o.id, o.partner_id as "partnerId" from organization o where o.id = $1 and ${LIVE}`,
    [orgId],
  );
  if (!row) throw new OrganizationAccessDenied();
  return row;
}
