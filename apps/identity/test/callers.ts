import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import type { TenantContext } from '@rmm/persistence';

/** Returns a caller with access to the whole partner. */
export const partnerCaller = (partnerId: string, userId: string = randomUUID()): UserCaller =>
  callerOf({ scope: 'partner', partnerId, orgId: null, orgAccess: 'all' }, userId);

/** Returns a caller of one organization. */
export const organizationCaller = (partnerId: string, orgId: string, userId: string = randomUUID()): UserCaller =>
  callerOf({ scope: 'organization', partnerId, orgId, orgAccess: 'none' }, userId);

type Scope = Pick<TenantContext, 'partnerId' | 'orgId' | 'orgAccess'> & { scope: UserCaller['scope'] };

function callerOf(scope: Scope, userId: string): UserCaller {
  const email = 'pat@users.test';
  return {
    ...scope,
    tenant: { ...scope, orgIds: [], userId },
    actor: { type: 'user', id: userId, email },
    ...{ kind: 'user', userId, email, sessionId: randomUUID(), roleId: null, orgIds: [] },
    ...{ siteIds: null, deviceGroupIds: null, permissions: new Set(), mfa: true, hasFactor: true },
  };
}
