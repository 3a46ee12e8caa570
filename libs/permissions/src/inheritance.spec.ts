import { parentChain, effectivePermissions, MAX_PARENT_DEPTH, type RoleNode, wouldCreateCycle } from './inheritance.js';
import type { Permission } from './permission.js';

const role = (id: string, parentRoleId: string | null, ...permissions: Permission[]): RoleNode => ({
  id,
  name: `Role ${id}`,
  parentRoleId,
  permissions,
});

/** `r0` below `r1` below `r2` ...; each holds one pair of its own. */
const ladder = (length: number) =>
  Array.from({ length }, (_, i) => role(`r${i}`, i + 1 < length ? `r${i + 1}` : null, `level${i}:read`));
const byId = (roles: RoleNode[]) => new Map(roles.map((each) => [each.id, each]));

describe('effective permissions', () => {
  it('adds the parents and names the nearest source of each pair', () => {
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

  it('counts ten parents and no eleventh', () => {
    const found = effectivePermissions(ladder(15)).map(({ permission }) => permission);
    expect(found).toHaveLength(MAX_PARENT_DEPTH + 1);
    expect(found).toContain('level10:read');
    expect(found).not.toContain('level11:read');
  });

  it('of nothing are none', () => {
    expect(effectivePermissions([])).toEqual([]);
  });
});

describe('the chain of a role', () => {
  it('goes from the role to its last parent', () => {
    expect(parentChain('r0', byId(ladder(3))).map(({ id }) => id)).toEqual(['r0', 'r1', 'r2']);
  });

  it('stops after ten parents', () => {
    expect(parentChain('r0', byId(ladder(20)))).toHaveLength(MAX_PARENT_DEPTH + 1);
  });

  it('ends where stored parents form a circle, and at an unknown parent', () => {
    const circle = byId([role('a', 'b'), role('b', 'a')]);
    expect(parentChain('a', circle).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(parentChain('x', byId([role('x', 'gone')])).map(({ id }) => id)).toEqual(['x']);
    expect(parentChain('gone', new Map())).toEqual([]);
  });
});

describe('a circle', () => {
  const parents: Record<string, string | null> = { child: 'mid', mid: 'top', top: null };
  const parentOf = (id: string) => parents[id];

  it('is closed by a role above itself, however far', () => {
    expect(wouldCreateCycle('top', 'child', parentOf)).toBe(true);
    expect(wouldCreateCycle('top', 'mid', parentOf)).toBe(true);
    expect(wouldCreateCycle('mid', 'mid', parentOf)).toBe(true);
  });

  it('is not closed by a parent from elsewhere, or none', () => {
    expect(wouldCreateCycle('child', 'top', parentOf)).toBe(false);
    expect(wouldCreateCycle('top', 'other', parentOf)).toBe(false);
    expect(wouldCreateCycle('top', null, parentOf)).toBe(false);
  });

  it('that is already stored does not hang the check', () => {
    const stored: Record<string, string> = { a: 'b', b: 'a' };
    expect(wouldCreateCycle('c', 'a', (id) => stored[id])).toBe(false);
  });
});
