import { MAX_PARENT_DEPTH, type Permission, type RoleNode } from '@rmm/permissions';
import { RoleTree } from './role-tree.js';
import { CircularInheritance, InheritanceTooDeep, InvalidParentRole } from './role.errors.js';

const node = (id: string, parentRoleId: string | null, ...permissions: Permission[]): RoleNode => ({
  id,
  name: id.toUpperCase(),
  parentRoleId,
  permissions,
});

describe('RoleTree', () => {
  const tree = new RoleTree([
    node('top', null, 'users:read', 'devices:read'),
    node('middle', 'top', 'devices:read'),
    node('low', 'middle', 'alerts:read'),
    node('other', null),
  ]);

  it('returns the parent chain of a role, the role first', () => {
    expect(tree.getChain('low').map(({ id }) => id)).toEqual(['low', 'middle', 'top']);
    expect(tree.getChain('unknown')).toEqual([]);
  });

  it('returns all permissions of a role with the nearest source of each', () => {
    expect(tree.getEffective('low').map(({ permission, sourceRoleId }) => [permission, sourceRoleId])).toEqual([
      ['alerts:read', 'low'],
      ['devices:read', 'middle'],
      ['users:read', 'top'],
    ]);
  });

  it('combines own permissions with those of a parent', () => {
    expect(tree.combine(['alerts:read'], 'middle').sort()).toEqual(['alerts:read', 'devices:read', 'users:read']);
    expect(tree.combine(['alerts:read'], null)).toEqual(['alerts:read']);
  });

  it('lists the descendants of a role at any distance', () => {
    expect(tree.listDescendants('top').sort()).toEqual(['low', 'middle']);
    expect(tree.listDescendants('low')).toEqual([]);
  });

  it('refuses a parent of another scope, and a circle', () => {
    expect(() => tree.assertParent(null, 'unknown')).toThrow(InvalidParentRole);
    expect(() => tree.assertParent('top', 'low')).toThrow(CircularInheritance);
    expect(() => tree.assertParent('other', 'low')).not.toThrow();
  });

  it('refuses a chain that is too long, also when it grows at the top', () => {
    const ids = Array.from({ length: MAX_PARENT_DEPTH + 1 }, (_, i) => `r${i}`);
    const chain = new RoleTree([...ids.map((id, i) => node(id, ids[i - 1] ?? null)), node('new', null)]);
    expect(() => chain.assertParent(null, ids[MAX_PARENT_DEPTH] ?? '')).toThrow(InheritanceTooDeep);
    expect(() => chain.assertParent('r0', 'new')).toThrow(InheritanceTooDeep);
    expect(() => chain.assertParent(null, ids[MAX_PARENT_DEPTH - 1] ?? '')).not.toThrow();
  });
});
