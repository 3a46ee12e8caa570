import { hasPermission, missingPermissions } from './ceiling.js';
import type { Permission } from './permission.js';

describe('holds', () => {
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
  ])('%j of %s is %s', (held, needed, expected) => {
    expect(hasPermission(held, needed)).toBe(expected);
    expect(hasPermission(new Set(held), needed)).toBe(expected);
  });
});

describe('the ceiling', () => {
  it('names what the actor does not hold, each once', () => {
    const needed: Permission[] = ['users:read', 'sites:write', 'sites:write', 'audit:read'];
    expect(missingPermissions(['users:*', 'audit:read'], needed)).toEqual(['sites:write']);
  });

  it('lets nobody but a holder of *:* grant a wildcard', () => {
    expect(missingPermissions(['sites:*', '*:read'], ['sites:*', '*:read'])).toEqual(['sites:*', '*:read']);
    expect(missingPermissions(['*:*'], ['sites:*', '*:read', '*:*'])).toEqual([]);
  });

  it('lets anybody grant nothing', () => {
    expect(missingPermissions([], [])).toEqual([]);
  });
});
