import type { Actor } from '@rmm/contracts';
import type { AuditedCaller } from '@rmm/messaging';
import type { MembershipKey } from '../members/membership.types.js';

/** Returns a user as actor of an audit entry. */
export const actorOf = (user: { id: string; email?: string }): Actor => ({
  type: 'user',
  id: user.id,
  email: user.email ?? null,
});

/** Returns the audited caller for a user without a session who acts on its own account. */
export const selfCaller = (
  user: { id: string; email: string },
  membership: Pick<MembershipKey, 'partnerId' | 'orgId'> | null,
): AuditedCaller => ({
  actor: actorOf(user),
  tenant: { partnerId: membership?.partnerId ?? null, orgId: membership?.orgId ?? null },
});

/** Returns the audited caller for an address without account, or a token without owner. */
export const unknownCaller = (email: string | null = null): AuditedCaller => ({
  actor: { type: 'user', id: null, email },
  tenant: { partnerId: null, orgId: null },
});

/** The service itself. */
export const SYSTEM_CALLER: AuditedCaller = {
  actor: { type: 'system', id: null },
  tenant: { partnerId: null, orgId: null },
};
