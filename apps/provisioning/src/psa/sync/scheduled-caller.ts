import type { Caller } from '@rmm/access';

/**
 * Returns the caller of a scheduled sync: the system, with access to the whole partner. Who enabled the schedule had that
 * access and may be gone since. Services use the actor and the tenant of a caller alone.
 */
export function scheduledCaller(partnerId: string): Caller {
  const tenant = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: null } as const;
  return { actor: { type: 'system', id: null }, tenant, partnerId, orgId: null } as unknown as Caller;
}
