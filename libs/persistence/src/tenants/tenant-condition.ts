import type { TenantContext } from './tenant-context.js';

/**
 * Who owns the rows of a table: one organization, the partner as a whole, an organization or (with `orgId` null) the
 * partner, or one user. The entity has the properties `partnerId`, `orgId`, `userId` it needs.
 */
export type Ownership = 'organization' | 'partner' | 'dual' | 'user';

interface OwnerCondition {
  sql: string;
  params?: Record<string, unknown>;
}

const NO_ROWS: OwnerCondition = { sql: 'false' };

/**
 * Returns the caller's tenant as a plain predicate over the entity's properties, with one text per scope. It admits
 * every row that the policies of row-level security let the caller read.
 * @returns null when the caller reads the rows of every tenant
 */
export function ownerCondition(ownership: Ownership, tenant: TenantContext, alias: string): OwnerCondition | null {
  if (ownership === 'user') {
    return tenant.userId
      ? { sql: `${alias}.userId = :tenantUserId`, params: { tenantUserId: tenant.userId } }
      : NO_ROWS;
  }
  if (tenant.scope === 'system') return null;
  if (tenant.scope === 'partner') return partnerCondition(ownership, tenant, alias);
  if (tenant.scope === 'organization' && ownership !== 'partner')
    return organizationCondition(ownership, tenant, alias);
  return NO_ROWS;
}

function partnerCondition(ownership: Ownership, { partnerId, orgAccess, orgIds }: TenantContext, alias: string) {
  const ofPartner = `${alias}.partnerId = :tenantPartnerId`;
  const params = { tenantPartnerId: partnerId };
  if (ownership === 'partner' || orgAccess === 'all') return { sql: ofPartner, params };
  const wide = ownership === 'dual' ? `${alias}.orgId IS NULL` : 'false';
  if (orgAccess === 'none') return { sql: `${ofPartner} AND ${wide}`, params };
  const selected = `${alias}.orgId = ANY(:tenantOrgIds)`;
  return {
    sql: `${ofPartner} AND ${ownership === 'dual' ? `(${wide} OR ${selected})` : selected}`,
    params: { ...params, tenantOrgIds: orgIds },
  };
}

function organizationCondition(ownership: Ownership, { partnerId, orgId }: TenantContext, alias: string) {
  const own = `${alias}.orgId = :tenantOrgId`;
  if (ownership === 'organization') return { sql: own, params: { tenantOrgId: orgId } };
  return {
    sql: `${own} OR (${alias}.orgId IS NULL AND ${alias}.partnerId = :tenantPartnerId)`,
    params: { tenantOrgId: orgId, tenantPartnerId: partnerId },
  };
}
