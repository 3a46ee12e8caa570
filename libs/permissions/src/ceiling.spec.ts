import { hasPermission, missingPermissions } from './ceiling.js';
import type { Permission } from './vocabulary.js';

describe('hasPermission', () => {
  it.each<[Permission[], Permission, boolean]>([
    [['users:read'], 'users:read', true],
    [['users:read'], 'users:write', false],
    [['*:*'], 'users:write', true],
    [[], 'sites:read', false],
    [['sites:read', 'sites:write'], '*:*', false],
    [['*:*'], '*:*', true],
  ])('of %j for %s returns %s', (granted, needed, expected) => {
    expect(hasPermission(granted, needed)).toBe(expected);
    expect(hasPermission(new Set(granted), needed)).toBe(expected);
  });
});

describe('missingPermissions', () => {
  it('returns each permission that is not granted once', () => {
    const needed: Permission[] = ['users:read', 'sites:write', 'sites:write', 'audit:read'];
    expect(missingPermissions(['users:read', 'audit:read'], needed)).toEqual(['sites:write']);
  });

  it('requires *:* for granting it', () => {
    expect(missingPermissions(['sites:read'], ['*:*'])).toEqual(['*:*']);
    expect(missingPermissions(['*:*'], ['sites:read', '*:*'])).toEqual([]);
  });

  it('returns nothing when nothing is needed', () => {
    expect(missingPermissions([], [])).toEqual([]);
  });
});
