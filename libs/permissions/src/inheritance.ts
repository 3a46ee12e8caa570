import type { Permission } from './permission.js';

/** How many parents above a role count. @see CONTRACT.md 4.6 */
export const MAX_PARENT_DEPTH = 10;

export interface RoleNode {
  id: string;
  name: string;
  parentRoleId: string | null;
  /** The role's own pairs, without its parents'. */
  permissions: readonly Permission[];
}

export interface EffectivePermission {
  permission: Permission;
  sourceRoleId: string;
  sourceRoleName: string;
  /** False when the role itself names the pair. */
  inherited: boolean;
}

/**
 * The permissions in force for a role: its own and those of its parents, each pair once, from its nearest source.
 * @param chain  the role first, then its parent, and so on; what lies deeper than ten parents is ignored
 */
export function effectivePermissions(chain: readonly RoleNode[]): EffectivePermission[] {
  const found = new Map<Permission, EffectivePermission>();
  chain.slice(0, MAX_PARENT_DEPTH + 1).forEach((role, distance) => {
    for (const permission of role.permissions) {
      if (found.has(permission)) continue;
      found.set(permission, { permission, sourceRoleId: role.id, sourceRoleName: role.name, inherited: distance > 0 });
    }
  });
  return [...found.values()];
}

/** The chain of a role out of a set of loaded ones; ends at an unknown parent, a cycle or the tenth parent. */
export function parentChain(roleId: string, roles: ReadonlyMap<string, RoleNode>): RoleNode[] {
  const chain: RoleNode[] = [];
  const seen = new Set<string>();
  let id: string | null = roleId;
  while (id !== null && !seen.has(id) && chain.length <= MAX_PARENT_DEPTH) {
    const role = roles.get(id);
    if (!role) break;
    seen.add(id);
    chain.push(role);
    id = role.parentRoleId;
  }
  return chain;
}

/**
 * Would giving `roleId` the parent `parentRoleId` close a circle?
 * @param parentOf  the present parent of a role, or null
 */
export function wouldCreateCycle(
  roleId: string,
  parentRoleId: string | null,
  parentOf: (roleId: string) => string | null | undefined,
): boolean {
  const seen = new Set<string>();
  let id = parentRoleId ?? null;
  while (id !== null && !seen.has(id)) {
    if (id === roleId) return true;
    seen.add(id);
    id = parentOf(id) ?? null;
  }
  return false;
}
