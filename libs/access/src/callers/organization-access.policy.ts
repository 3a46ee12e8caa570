import type { Caller } from './caller.js';

/**
 * Does the organization axis of this caller include an organization of this partner?
 * The rule only: whether the organization is alive is the directory's to say.
 */
export function canAccessOrganization(caller: Caller, organization: { orgId: string; partnerId: string }): boolean {
  const { scope, partnerId, orgId, orgAccess, orgIds } = caller.tenant;
  if (scope === 'system') return true;
  if (partnerId !== organization.partnerId) return false;
  if (scope === 'organization') return orgId === organization.orgId;
  if (scope !== 'partner') return false;
  return orgAccess === 'all' || (orgAccess === 'selected' && orgIds.includes(organization.orgId));
}

/** Partner-wide objects are for those who reach the whole partner. @see CONTRACT.md 6 */
export function hasFullPartnerAccess(caller: Caller): boolean {
  return caller.tenant.scope !== 'partner' || caller.tenant.orgAccess === 'all';
}
