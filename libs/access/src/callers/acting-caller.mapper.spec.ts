import { randomUUID } from 'node:crypto';
import { actingCallerSchema, restrictedApiKeySchema } from '@rmm/contracts';
import { userCaller } from '../../test/callers.js';
import { toApiKeyCaller, toPartnerKeyCaller } from '../keys/key-caller.mapper.js';
import { restrictedKeyCaller, tenantOf, toActingCaller, toRestrictedKey } from './acting-caller.mapper.js';

const [partnerId, orgId, userId, sessionId, keyId, principalId] = Array.from({ length: 6 }, () => randomUUID());

const user = userCaller({
  userId,
  sessionId,
  scope: 'partner',
  partnerId,
  orgId: null,
  orgAccess: 'selected',
  orgIds: [orgId],
});
const apiKey = toApiKeyCaller({ keyId, orgId, partnerId } as never);
const partnerKey = toPartnerKeyCaller({ keyId, principalId, partnerId } as never);

describe('toActingCaller', () => {
  it.each([
    ['a user', user],
    ['an API key', apiKey],
    ['a partner key', partnerKey],
  ])('carries the tenant of %s across a request unchanged', (_, caller) => {
    const acting = actingCallerSchema.parse(JSON.parse(JSON.stringify(toActingCaller(caller))));
    expect(acting.kind).toBe(caller.kind);
    expect(tenantOf(acting).tenant).toEqual(caller.tenant);
  });

  it('carries neither claims nor permissions', () => {
    expect(Object.keys(toActingCaller(user)).sort()).toEqual(['kind', 'sessionId', 'tenant', 'userId']);
  });
});

describe('an acting caller', () => {
  const acting = toActingCaller(user);
  it.each([
    ['no partner', { ...acting, tenant: { ...acting.tenant, partnerId: null } }],
    ['an organization scope without organization', { ...acting, tenant: { ...acting.tenant, scope: 'organization' } }],
    ['an unknown scope', { ...acting, tenant: { ...acting.tenant, scope: 'none' } }],
    ['an id that is no UUID', { ...acting, tenant: { ...acting.tenant, orgIds: ['x'] } }],
    ['too many organizations', { ...acting, tenant: { ...acting.tenant, orgIds: Array(10_001).fill(orgId) } }],
    ['an API key in system scope', { ...toActingCaller(apiKey), tenant: { ...acting.tenant, scope: 'system' } }],
    ['a partner key in system scope', { ...toActingCaller(partnerKey), tenant: { ...acting.tenant, scope: 'system' } }],
    ['another kind', { ...acting, kind: 'agent' }],
  ])('is refused with %s', (_, request) => {
    expect(actingCallerSchema.safeParse(request).success).toBe(false);
  });
});

describe('an API key with its restriction', () => {
  const restricted = toApiKeyCaller({ keyId, orgId, partnerId, siteIds: [principalId], deviceGroupIds: [] } as never);

  it('is the same caller on the other side of a request, without its scopes', () => {
    const key = restrictedApiKeySchema.parse(JSON.parse(JSON.stringify(toRestrictedKey(restricted))));
    const owner = { createdBy: null, principalId: null };
    expect(restrictedKeyCaller(key)).toEqual({ ...restricted, ...owner, scopes: [] });
  });

  it('keeps no restriction apart from one that allows nothing', () => {
    const unrestricted = toApiKeyCaller({ keyId, orgId, partnerId, siteIds: null, deviceGroupIds: null } as never);
    expect(restrictedKeyCaller(toRestrictedKey(unrestricted))).toMatchObject({ siteIds: null, deviceGroupIds: null });
    expect(restrictedKeyCaller(toRestrictedKey(restricted)).deviceGroupIds).toEqual([]);
  });

  it('is refused without a restriction field, and in another scope than an organization', () => {
    const { siteIds: _, ...incomplete } = toRestrictedKey(restricted);
    const key = toRestrictedKey(restricted);
    const partner = { ...key, tenant: { ...key.tenant, scope: 'partner' } };
    for (const request of [incomplete, partner]) expect(restrictedApiKeySchema.safeParse(request).success).toBe(false);
  });
});
