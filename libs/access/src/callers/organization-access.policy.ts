import type { HasTenant } from '@rmm/persistence';
import type { Caller } from './caller.js';

/**
 * Checks whether the caller's scope includes an organization of a partner. Whether the organization is active is not
 * checked here but in the organization directory.
 */
export function canAccessOrganization(caller: HasTenant, organization: { orgId: string; partnerId: string }): boolean {
  const { scope, partnerId, orgId, orgAccess, orgIds } = caller.tenant;
  if (scope === 'system') return true;
  if (partnerId !== organization.partnerId) return false;
  if (scope === 'organization') return orgId === organization.orgId;
  if (scope !== 'partner') return false;
  return orgAccess === 'all' || (orgAccess === 'selected' && orgIds.includes(organization.orgId));
}

/** Returns true for callers with access to every organization of their partner, which partner-wide objects require. */
export function hasFullPartnerAccess(caller: Caller): boolean {
  return caller.tenant.scope !== 'partner' || caller.tenant.orgAccess === 'all';
}
