/**
 * The tenant a query runs for: row-level security compares rows with these values.
 * It comes from an authenticated caller (access snapshot, key record), never from what the request says about itself.
 */
export interface TenantContext {
  scope: 'system' | 'partner' | 'organization' | 'none';
  partnerId: string | null;
  orgId: string | null;
  orgAccess: 'all' | 'selected' | 'none';
  /** The organizations of `selected`. */
  orgIds: readonly string[];
  userId: string | null;
}

/** The caller of a tenant-scoped query; every Caller has a tenant. */
export interface HasTenant {
  tenant: TenantContext;
}

/** The transaction-local settings that policies read, in the order of `tenantSettingValues`. */
const TENANT_SETTINGS = [
  'rmm.scope',
  'rmm.partner_id',
  'rmm.org_id',
  'rmm.org_access',
  'rmm.org_ids',
  'rmm.user_id',
] as const;

/**
 * Returns one SQL expression that sets every setting until the end of the transaction.
 * @param firstParameter number of the first of the six parameters it binds
 */
export function setTenantSettings(firstParameter: number): string {
  return TENANT_SETTINGS.map((name, i) => `set_config('${name}', $${firstParameter + i}, true)`).join(' || ');
}

/** Returns the six values to bind. The policy's cast refuses an id that is not a UUID; it is never read as SQL. */
export function tenantSettingValues(tenant: TenantContext): string[] {
  return [
    tenant.scope,
    tenant.partnerId ?? '',
    tenant.orgId ?? '',
    tenant.orgAccess,
    tenant.orgIds.length === 0 ? '' : arrayLiteral(tenant.orgIds),
    tenant.userId ?? '',
  ];
}

/** Returns PostgreSQL's text form of an array, each element quoted. */
function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
