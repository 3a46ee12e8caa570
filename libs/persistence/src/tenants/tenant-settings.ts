import type { TenantContext } from './tenant-context.js';

/** The transaction-local settings that policies read, in the order `settingValues` gives their values. */
export const TENANT_SETTINGS = [
  'rmm.scope',
  'rmm.partner_id',
  'rmm.org_id',
  'rmm.org_access',
  'rmm.org_ids',
  'rmm.user_id',
] as const;

/**
 * One SQL expression that sets every setting until the end of the transaction.
 * @param firstParameter number of the first of the six parameters it binds
 */
export function setTenantSettings(firstParameter: number): string {
  return TENANT_SETTINGS.map((name, i) => `set_config('${name}', $${firstParameter + i}, true)`).join(' || ');
}

/** The six values to bind. An id that is no uuid is refused by the policy's cast, never read as SQL. */
export function settingValues(tenant: TenantContext): string[] {
  return [
    tenant.scope,
    tenant.partnerId ?? '',
    tenant.orgId ?? '',
    tenant.orgAccess,
    tenant.orgIds.length === 0 ? '' : arrayLiteral(tenant.orgIds),
    tenant.userId ?? '',
  ];
}

/** PostgreSQL's text form of an array, each element quoted. */
function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
