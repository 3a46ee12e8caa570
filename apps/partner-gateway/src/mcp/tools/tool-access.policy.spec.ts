import type { ApiKeyCaller } from '@rmm/access';
import { isKnownTo, missingScopes } from './tool-access.policy.js';

describe('missingScopes', () => {
  it.each([
    [1, ['ai:read'], null, null],
    [1, ['ai:write', 'ai:execute'], ['ai:read'], ['ai:read']],
    [2, ['ai:read'], ['ai:write', 'ai:execute'], ['ai:write', 'ai:execute']],
    [2, ['ai:read', 'ai:write'], null, null],
    [2, ['ai:read', 'ai:execute'], null, null],
    [2, ['ai:write'], ['ai:read'], ['ai:read']],
    [2, ['ai:read', 'devices:write'], ['ai:write', 'ai:execute'], ['ai:write', 'ai:execute']],
    [3, ['ai:read', 'ai:write'], ['ai:execute'], ['ai:execute']],
    [3, ['ai:read', 'ai:execute'], null, ['ai:execute_admin']],
    [3, ['ai:read', 'ai:execute_admin'], ['ai:execute'], ['ai:execute']],
    [3, ['ai:read', 'ai:execute', 'ai:execute_admin'], null, null],
    [3, ['ai:*', '*'], ['ai:read'], ['ai:read']],
  ] as const)('of tier %d with %j are %j, in production %j', (tier, scopes, elsewhere, production) => {
    expect(missingScopes({ scopes }, tier, false)).toEqual(elsewhere);
    expect(missingScopes({ scopes }, tier, true)).toEqual(production);
  });
});

describe('isKnownTo', () => {
  const keyOf = (restriction: object) =>
    ({ kind: 'api_key', siteIds: null, deviceGroupIds: null, ...restriction }) as unknown as ApiKeyCaller;

  it('hides what shows the whole organization from restricted keys only', () => {
    for (const restricted of [keyOf({ siteIds: [] }), keyOf({ deviceGroupIds: ['g'] })]) {
      expect(isKnownTo(restricted, { isOrganizationWide: true })).toBe(false);
      expect(isKnownTo(restricted, { isOrganizationWide: false })).toBe(true);
    }
    expect(isKnownTo(keyOf({}), { isOrganizationWide: true })).toBe(true);
  });
});
