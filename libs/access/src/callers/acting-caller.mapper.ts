import type { ActingCaller, ActingUser, Actor, RestrictedApiKey } from '@rmm/contracts';
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

/** The caller that a service acts for: its tenant, and the actor that events and audit entries name. */
export interface Acting extends HasTenant {
  readonly actor: Actor;
}

/** Returns tenant and actor of an acting caller, for use cases that write. Entries name the principal of a partner key. */
export function actingOf(caller: ActingCaller): Acting {
  return { ...tenantOf(caller), actor: actorOf(caller) };
}

function actorOf(caller: ActingCaller): Actor {
  switch (caller.kind) {
    case 'user':
      return { type: 'user', id: caller.userId };
    case 'api_key':
      return { type: 'api_key', id: caller.keyId };
    case 'partner_key':
      return { type: 'api_key', id: caller.principalId };
  }
}

/** Returns the tenant in whose rows a request acts, for `tenants.read(...)` and `tenants.transaction(...)`. */
export function tenantOf(caller: ActingCaller): HasTenant {
  return { tenant: { ...caller.tenant, userId: caller.kind === 'user' ? caller.userId : null } };
}

/** Maps an API key to the form that carries the restriction of its creator to sites and device groups as well. */
export function toRestrictedKey(caller: ApiKeyCaller): RestrictedApiKey {
  const { siteIds, deviceGroupIds } = caller;
  return {
    ...toActingCaller(caller),
    siteIds: siteIds && [...siteIds],
    deviceGroupIds: deviceGroupIds && [...deviceGroupIds],
  };
}

/** Returns the caller of a request with an API key and its restriction. The calling service has checked its scopes. */
export function restrictedKeyCaller(key: RestrictedApiKey): ApiKeyCaller {
  const { keyId, siteIds, deviceGroupIds } = key;
  const { tenant } = tenantOf(key);
  const { orgId, partnerId } = tenant;
  if (orgId === null || partnerId === null) throw new Error('An API key belongs to an organization');
  const owner = { createdBy: null, principalId: null };
  return {
    ...{ kind: 'api_key', actor: { type: 'api_key', id: keyId }, tenant, keyId, orgId, partnerId, ...owner },
    ...{ scopes: [], siteIds, deviceGroupIds },
  };
}
