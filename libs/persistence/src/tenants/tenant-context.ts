/**
 * For whom a query runs: the values that row-level security compares rows with.
 * It comes from a verified caller (access snapshot, key record), never from what the request says about itself.
 */
export interface TenantContext {
  scope: 'system' | 'partner' | 'organization' | 'none';
  partnerId: string | null;
  orgId: string | null;
  orgAccess: 'all' | 'selected' | 'none';
  /** The organizations of `selected`. Short: about 50 at most, since each row is compared with each of them. */
  orgIds: readonly string[];
  userId: string | null;
}

/** What both tenant doors take; every Caller has it. */
export interface HasTenant {
  tenant: TenantContext;
}

/** Sees nothing, may write nothing. */
export const NO_TENANT: Readonly<TenantContext> = Object.freeze({
  scope: 'none',
  partnerId: null,
  orgId: null,
  orgAccess: 'none',
  orgIds: Object.freeze([]),
  userId: null,
});
