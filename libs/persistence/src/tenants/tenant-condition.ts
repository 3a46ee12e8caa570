import { encodeIds, type HasTenant, type TenantContext } from './tenant-context.js';

/**
 * The owner of the rows of a table: one organization, the partner as a whole, an organization or (with `orgId` null) the
 * partner, or one user.
 */
export type RowOwnership = 'organization' | 'partner' | 'dual' | 'user';

/** The SQL names of the columns of the owner: `apiKey.partnerId`, `k.partner_id`. */
export interface OwnerColumns {
  partnerId: string;
  orgId: string;
  userId: string;
}

interface OwnerCondition {
  sql: string;
  params?: Record<string, unknown>;
}

/** Selected organizations that are passed as an array, by which the planner estimates the rows of each. */
const MAX_PLANNED = 100;

/** Returns whether a statement of the caller has a list of organizations that is too long to estimate each of them. */
export const hasManyOrganizations = ({ scope, orgAccess, orgIds }: TenantContext): boolean =>
  scope === 'partner' && orgAccess === 'selected' && orgIds.length > MAX_PLANNED;

const NO_ROWS: OwnerCondition = { sql: 'false' };

/**
 * Returns the caller's tenant as a plain predicate, with one text per scope, for hand-written SQL. It admits every row
 * that the policies of row-level security let the caller read, and an index on the tenant columns serves it.
 * @param alias  of the table in the statement
 */
export function tenantCondition(caller: HasTenant, ownership: RowOwnership, alias: string): Required<OwnerCondition> {
  const columns = { partnerId: `${alias}.partner_id`, orgId: `${alias}.org_id`, userId: `${alias}.user_id` };
  const condition = ownerCondition(ownership, caller.tenant, columns);
  return { sql: condition ? `(${condition.sql})` : 'true', params: condition?.params ?? {} };
}

/**
 * The use that a statement makes of the rows: `page` reads the first ones of an order, `count` reads all of them in any order.
 * The conditions for both have the same parameters.
 */
export type ReadPurpose = 'page' | 'count';

/** @returns null when the caller reads the rows of every tenant */
export function ownerCondition(
  ownership: RowOwnership,
  tenant: TenantContext,
  columns: OwnerColumns,
  purpose: ReadPurpose = 'page',
): OwnerCondition | null {
  if (ownership === 'user') {
    return tenant.userId
      ? { sql: `${columns.userId} = :tenantUserId`, params: { tenantUserId: tenant.userId } }
      : NO_ROWS;
  }
  if (tenant.scope === 'system') return null;
  if (tenant.scope === 'partner') return partnerCondition(ownership, tenant, columns, purpose);
  if (tenant.scope === 'organization' && ownership !== 'partner')
    return organizationCondition(ownership, tenant, columns);
  return NO_ROWS;
}

function partnerCondition(
  ownership: RowOwnership,
  { partnerId, orgAccess, orgIds }: TenantContext,
  columns: OwnerColumns,
  purpose: ReadPurpose,
): OwnerCondition {
  const ofPartner = `${columns.partnerId} = :tenantPartnerId`;
  const params = { tenantPartnerId: partnerId };
  if (ownership === 'partner' || orgAccess === 'all') return { sql: ofPartner, params };
  const wide = ownership === 'dual' ? `${columns.orgId} IS NULL` : 'false';
  if (orgAccess === 'none') return { sql: `${ofPartner} AND ${wide}`, params };
  const selected = selectedCondition(orgIds, columns.orgId, purpose);
  return {
    sql: `${ofPartner} AND ${ownership === 'dual' ? `(${wide} OR ${selected.sql})` : selected.sql}`,
    params: { ...params, ...selected.params },
  };
}

/**
 * Names the selected organizations so that the statement is planned well; each list of them gets a plan of its own. With few
 * the planner reads the index of each organization or of the partner, whichever has fewer rows. With many a page filters
 * the rows of the partner in their order by a hash table: estimates for each organization take longer than the rows of a
 * page. A count reads the index of each organization: the filter would also read the rows of all others.
 */
function selectedCondition(orgIds: readonly string[], column: string, purpose: ReadPurpose): OwnerCondition {
  if (orgIds.length === 1) return { sql: `${column} = :tenantOrgId`, params: { tenantOrgId: orgIds[0] } };
  if (orgIds.length <= MAX_PLANNED) return { sql: `${column} = ANY(:tenantOrgIds)`, params: { tenantOrgIds: orgIds } };
  const params = { tenantOrgIds: encodeIds(orgIds).parameter };
  if (purpose === 'count') return { sql: `${column} = ANY(:tenantOrgIds::uuid[])`, params };
  // `IS TRUE` keeps the planner from turning the filter into a join.
  return { sql: `(${column} IN (SELECT unnest(:tenantOrgIds::uuid[]))) IS TRUE`, params };
}

function organizationCondition(
  ownership: RowOwnership,
  { partnerId, orgId }: TenantContext,
  columns: OwnerColumns,
): OwnerCondition {
  const own = `${columns.orgId} = :tenantOrgId`;
  if (ownership === 'organization') return { sql: own, params: { tenantOrgId: orgId } };
  return {
    sql: `${own} OR (${columns.orgId} IS NULL AND ${columns.partnerId} = :tenantPartnerId)`,
    params: { tenantOrgId: orgId, tenantPartnerId: partnerId },
  };
}
