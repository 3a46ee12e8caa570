import type { Actor } from '@rmm/contracts';
import type { AuditedCaller } from '@rmm/messaging';
import type { MembershipKey } from '../memberships/membership.js';

/** A person as an audit row names one. */
export const actorOf = (person: { id: string; email?: string }): Actor => ({
  type: 'user',
  id: person.id,
  email: person.email ?? null,
});

/** Somebody who has no session yet, acting on its own account. */
export const selfCaller = (
  person: { id: string; email: string },
  membership: Pick<MembershipKey, 'partnerId' | 'orgId'> | null,
): AuditedCaller => ({
  actor: actorOf(person),
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
