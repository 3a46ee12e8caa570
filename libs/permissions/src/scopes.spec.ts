import { isPermission } from './permission.js';
import {
  API_KEY_SCOPES,
  DEFAULT_PARTNER_SCOPES,
  isWildcardScope,
  PARTNER_SCOPES,
  permissionsForScopes,
  scopesAllow,
} from './scopes.js';

describe('scopes', () => {
  it('of API keys are fifteen', () => {
    expect(Object.keys(API_KEY_SCOPES)).toHaveLength(15);
    expect(API_KEY_SCOPES['ai:execute_admin']).toEqual(['*:*']);
    expect(API_KEY_SCOPES['ai:read']).toEqual(['devices:read', 'alerts:read', 'scripts:read', 'automations:read']);
  });

  it('of partner principals are eight that read, granted by default, and three that write', () => {
    expect(DEFAULT_PARTNER_SCOPES).toHaveLength(8);
    expect(DEFAULT_PARTNER_SCOPES.every((scope) => scope.endsWith(':read'))).toBe(true);
    expect(Object.keys(PARTNER_SCOPES)).toHaveLength(11);
  });

  it('require permissions of the vocabulary', () => {
    const permissions = [...Object.values(API_KEY_SCOPES), ...Object.values(PARTNER_SCOPES)].flat();
    expect(permissions.filter((permission) => !isPermission(permission))).toEqual([]);
  });

  it('allow a route that requires one of several, and every route that requires none', () => {
    expect(scopesAllow(['devices:read'], ['devices:read', 'devices:write'])).toBe(true);
    expect(scopesAllow(['scripts:read'], ['devices:read'])).toBe(false);
    expect(scopesAllow([], [])).toBe(true);
    expect(scopesAllow([], ['devices:read'])).toBe(false);
  });

  it('stored as wildcards match nothing', () => {
    expect(scopesAllow(['*', 'devices:*', '*:*'], ['devices:read'])).toBe(false);
  });

  it.each([
    ['*', true],
    ['devices:*', true],
    ['*:read', true],
    ['devices:read', false],
    ['', false],
  ])('isWildcardScope of %j returns %s', (scope, expected) => {
    expect(isWildcardScope(scope)).toBe(expected);
  });

  it('require the permissions of each scope once, and *:* for an unknown scope', () => {
    expect(permissionsForScopes(['inventory:read', 'devices:read', 'configuration:read'], PARTNER_SCOPES)).toEqual([
      'devices:read',
      'automations:read',
    ]);
    expect(permissionsForScopes(['no:such'], API_KEY_SCOPES)).toEqual(['*:*']);
    expect(permissionsForScopes(['toString'], API_KEY_SCOPES)).toEqual(['*:*']);
  });
});
