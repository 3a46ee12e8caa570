import type { Actor } from '@rmm/contracts';
import type { AuditedCaller } from '@rmm/messaging';
import type { MembershipKey } from '../members/membership.js';

/** A user as an audit row names one. */
export const actorOf = (user: { id: string; email?: string }): Actor => ({
  type: 'user',
  id: user.id,
  email: user.email ?? null,
});

/** Somebody who has no session yet, acting on its own account. */
export const selfCaller = (
  user: { id: string; email: string },
  membership: Pick<MembershipKey, 'partnerId' | 'orgId'> | null,
): AuditedCaller => ({
  actor: actorOf(user),
  tenant: { partnerId: membership?.partnerId ?? null, orgId: membership?.orgId ?? null },
});

/** Nobody we know: an address without account, a token without owner. */
export const stranger = (email: string | null = null): AuditedCaller => ({
  actor: { type: 'user', id: null, email },
  tenant: { partnerId: null, orgId: null },
});

/** The service itself. */
export const SYSTEM_CALLER: AuditedCaller = {
  actor: { type: 'system', id: null },
  tenant: { partnerId: null, orgId: null },
};
