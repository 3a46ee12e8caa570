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

/** The form alone: 36 characters of which none can end the list or the text. */
const UUID = /^[\da-f-]{36}$/i;

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

/** Returns the six values to bind. @throws Error for a selected organization whose id is not a UUID */
export function tenantSettingValues(tenant: TenantContext): string[] {
  return [
    tenant.scope,
    tenant.partnerId ?? '',
    tenant.orgId ?? '',
    tenant.orgAccess,
    joinIds(tenant.orgIds),
    tenant.userId ?? '',
  ];
}

/**
 * Returns the caller with access to one of its selected organizations, or to none when that one is not selected; any other
 * caller as it is. For statements about one organization: they then cost the same for a thousand selected ones.
 */
export function restrictToOrganization<C extends HasTenant>(caller: C, orgId: string): C {
  const { scope, orgAccess, orgIds } = caller.tenant;
  if (scope !== 'partner' || orgAccess !== 'selected') return caller;
  const named = orgId.toLowerCase();
  return { ...caller, tenant: { ...caller.tenant, orgIds: orgIds.filter((id) => id.toLowerCase() === named) } };
}

/** Returns ids as a text that PostgreSQL splits at the commas and compares with the text of an id. */
function joinIds(ids: readonly string[]): string {
  if (!ids.every((id) => UUID.test(id))) throw new Error('The id of a selected organization is not a UUID');
  return ids.join(',').toLowerCase();
}
