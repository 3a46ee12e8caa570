import type { UserCaller } from '@rmm/access';
import type { MembershipKey } from './membership.types.js';

/** Checks whether a membership is in a tenant that the caller administers; its permissions are checked apart from that. */
export function canAccessMembership(caller: UserCaller, membership: MembershipKey): boolean {
  const { scope, partnerId, orgId } = caller;
  if (scope === 'system') return true;
  if (membership.scope === 'system' || membership.partnerId !== partnerId) return false;
  return scope === 'partner' || (membership.scope === 'organization' && membership.orgId === orgId);
}
