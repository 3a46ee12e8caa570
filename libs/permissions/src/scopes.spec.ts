import { parsePermission } from './permission.js';
import {
  API_KEY_SCOPES,
  DEFAULT_PARTNER_SCOPES,
  isWildcardScope,
  PARTNER_SCOPES,
  PARTNER_WRITE_SCOPES,
  inheritedPermissions,
  scopesAllow,
} from './scopes.js';
import { isKnownPermission } from './vocabulary.js';

describe('scopes', () => {
  it('of API keys are the fifteen of CONTRACT 4.1', () => {
    expect(Object.keys(API_KEY_SCOPES)).toHaveLength(15);
    expect(API_KEY_SCOPES['ai:execute_admin']).toEqual(['*:*']);
    expect(API_KEY_SCOPES['ai:read']).toEqual(['devices:read', 'alerts:read', 'scripts:read', 'automations:read']);
  });

  it('of partner principals are eight reads by default and three writes on request', () => {
    expect(DEFAULT_PARTNER_SCOPES).toHaveLength(8);
    expect(PARTNER_WRITE_SCOPES).toEqual(['organizations:write', 'sites:write', 'enrollment-keys:write']);
    expect(Object.keys(PARTNER_SCOPES)).toHaveLength(11);
  });

  it('need only permissions that exist', () => {
    for (const permission of [...Object.values(API_KEY_SCOPES), ...Object.values(PARTNER_SCOPES)].flat()) {
      const { resource, action } = parsePermission(permission);
      expect([permission, isKnownPermission(resource, action)]).toEqual([permission, true]);
    }
  });

  it('pass with one of several; a route that wants none takes any', () => {
    expect(scopesAllow(['devices:read'], ['devices:read', 'devices:write'])).toBe(true);
    expect(scopesAllow(['scripts:read'], ['devices:read'])).toBe(false);
    expect(scopesAllow([], [])).toBe(true);
    expect(scopesAllow([], ['devices:read'])).toBe(false);
  });

  it('stored as a wildcard count for nothing', () => {
    expect(scopesAllow(['*', 'devices:*', '*:*'], ['devices:read'])).toBe(false);
  });

  it.each([
    ['*', true],
    ['devices:*', true],
    ['*:read', true],
    ['devices:read', false],
    ['', false],
  ])('%s as a wildcard is %s', (scope, expected) => {
    expect(isWildcardScope(scope)).toBe(expected);
  });

  it('add up to what their creator must hold, and to everything for an unknown one', () => {
    expect(inheritedPermissions(['inventory:read', 'devices:read', 'configuration:read'], PARTNER_SCOPES)).toEqual([
      'devices:read',
      'automations:read',
    ]);
    expect(inheritedPermissions(['no:such'], API_KEY_SCOPES)).toEqual(['*:*']);
    expect(inheritedPermissions(['toString'], API_KEY_SCOPES)).toEqual(['*:*']);
  });
});
