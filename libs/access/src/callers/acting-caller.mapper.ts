import type { ActingCaller, ActingUser } from '@rmm/contracts';
import type { HasTenant } from '@rmm/persistence';
import type { ApiKeyCaller, PartnerKeyCaller, UserCaller } from './caller.js';

/** Maps a caller to the form in which a request to another service carries it. */
export function toActingCaller(caller: UserCaller): ActingUser;
export function toActingCaller<C extends UserCaller | ApiKeyCaller | PartnerKeyCaller>(
  caller: C,
): Extract<ActingCaller, { kind: C['kind'] }>;
export function toActingCaller(caller: UserCaller | ApiKeyCaller | PartnerKeyCaller): ActingCaller {
  const { scope, partnerId, orgId, orgAccess, orgIds } = caller.tenant;
  if (scope === 'none') throw new Error('A caller without a tenant cannot act in another service');
  const tenant = { scope, partnerId, orgId, orgAccess, orgIds: [...orgIds] };
  switch (caller.kind) {
    case 'user':
      return { kind: 'user', userId: caller.userId, sessionId: caller.sessionId, tenant };
    case 'api_key':
      return { kind: 'api_key', keyId: caller.keyId, tenant };
    case 'partner_key':
      return { kind: 'partner_key', keyId: caller.keyId, principalId: caller.principalId, tenant };
  }
}

/** Returns the tenant in whose rows a request acts, for `tenants.read(...)` and `tenants.transaction(...)`. */
export function tenantOf(caller: ActingCaller): HasTenant {
  return { tenant: { ...caller.tenant, userId: caller.kind === 'user' ? caller.userId : null } };
}
