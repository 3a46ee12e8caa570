import { parentChain, effectivePermissions, MAX_PARENT_DEPTH, type RoleNode, wouldCreateCycle } from './inheritance.js';
import { ALL_PERMISSIONS } from './permission.js';
import type { Permission } from './vocabulary.js';

const role = (id: string, parentRoleId: string | null, ...permissions: Permission[]): RoleNode => ({
  id,
  name: `Role ${id}`,
  parentRoleId,
  permissions,
});

/** Builds roles of which each inherits from the next and grants one permission of its own: `r0`, `r1`, ... */
const ladder = (length: number) =>
  Array.from({ length }, (_, i) => role(`r${i}`, i + 1 < length ? `r${i + 1}` : null, ALL_PERMISSIONS[i]));
const byId = (roles: RoleNode[]) => new Map(roles.map((each) => [each.id, each]));

describe('effectivePermissions', () => {
  it('adds those of the parents, each with its nearest source', () => {
    const chain = [
      role('child', 'mid', 'sites:read'),
      role('mid', 'top', 'sites:read', 'users:read'),
      role('top', null, 'users:read', 'audit:read'),
    ];
    expect(effectivePermissions(chain)).toEqual([
      { permission: 'sites:read', sourceRoleId: 'child', sourceRoleName: 'Role child', inherited: false },
      { permission: 'users:read', sourceRoleId: 'mid', sourceRoleName: 'Role mid', inherited: true },
      { permission: 'audit:read', sourceRoleId: 'top', sourceRoleName: 'Role top', inherited: true },
    ]);
  });

  it('ignores parents beyond the tenth', () => {
    const found = effectivePermissions(ladder(15)).map(({ permission }) => permission);
    expect(found).toHaveLength(MAX_PARENT_DEPTH + 1);
    expect(found).toContain(ALL_PERMISSIONS[10]);
    expect(found).not.toContain(ALL_PERMISSIONS[11]);
  });

  it('returns nothing for an empty chain', () => {
    expect(effectivePermissions([])).toEqual([]);
  });
});

describe('parentChain', () => {
  it('returns the role and its parents in order', () => {
    expect(parentChain('r0', byId(ladder(3))).map(({ id }) => id)).toEqual(['r0', 'r1', 'r2']);
  });

  it('stops after ten parents', () => {
    expect(parentChain('r0', byId(ladder(20)))).toHaveLength(MAX_PARENT_DEPTH + 1);
  });

  it('ends where stored parents form a cycle, and at an unknown parent', () => {
    const cycle = byId([role('a', 'b'), role('b', 'a')]);
    expect(parentChain('a', cycle).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(parentChain('x', byId([role('x', 'unknown')])).map(({ id }) => id)).toEqual(['x']);
    expect(parentChain('unknown', new Map())).toEqual([]);
  });
});

describe('wouldCreateCycle', () => {
  const parents: Record<string, string | null> = { child: 'mid', mid: 'top', top: null };
  const parentOf = (id: string) => parents[id];

  it('returns true for a parent that inherits from the role, at any distance', () => {
    expect(wouldCreateCycle('top', 'child', parentOf)).toBe(true);
    expect(wouldCreateCycle('top', 'mid', parentOf)).toBe(true);
    expect(wouldCreateCycle('mid', 'mid', parentOf)).toBe(true);
  });

  it('returns false for an unrelated parent, and for none', () => {
    expect(wouldCreateCycle('child', 'top', parentOf)).toBe(false);
    expect(wouldCreateCycle('top', 'other', parentOf)).toBe(false);
    expect(wouldCreateCycle('top', null, parentOf)).toBe(false);
  });

  it('ends when the stored parents already form a cycle', () => {
    const stored: Record<string, string> = { a: 'b', b: 'a' };
    expect(wouldCreateCycle('c', 'a', (id) => stored[id])).toBe(false);
  });
});
