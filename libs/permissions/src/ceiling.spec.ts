import { hasPermission, missingPermissions } from './ceiling.js';
import type { Permission } from './vocabulary.js';

describe('hasPermission', () => {
  it.each<[Permission[], Permission, boolean]>([
    [['users:read'], 'users:read', true],
    [['users:read'], 'users:write', false],
    [['*:*'], 'users:write', true],
    [['users:*'], 'users:write', true],
    [['users:*'], 'sites:write', false],
    [['*:read'], 'sites:read', true],
    [['*:read'], 'sites:write', false],
    [[], 'sites:read', false],
    [['sites:read', 'sites:write'], 'sites:*', false],
    [['sites:*'], 'sites:*', true],
    [['sites:*'], '*:*', false],
    [['*:*'], '*:*', true],
  ])('of %j for %s returns %s', (granted, needed, expected) => {
    expect(hasPermission(granted, needed)).toBe(expected);
    expect(hasPermission(new Set(granted), needed)).toBe(expected);
  });
});

describe('missingPermissions', () => {
  it('returns each permission that is not granted once', () => {
    const needed: Permission[] = ['users:read', 'sites:write', 'sites:write', 'audit:read'];
    expect(missingPermissions(['users:*', 'audit:read'], needed)).toEqual(['sites:write']);
  });

  it('requires *:* for granting a wildcard', () => {
    expect(missingPermissions(['sites:*', '*:read'], ['sites:*', '*:read'])).toEqual(['sites:*', '*:read']);
    expect(missingPermissions(['*:*'], ['sites:*', '*:read', '*:*'])).toEqual([]);
  });

  it('returns nothing when nothing is needed', () => {
    expect(missingPermissions([], [])).toEqual([]);
  });
});
