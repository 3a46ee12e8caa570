import type { Permission } from './vocabulary.js';

/** Number of parents above a role that add to its permissions. */
export const MAX_PARENT_DEPTH = 10;

export interface RoleNode {
  id: string;
  name: string;
  parentRoleId: string | null;
  /** The role's own permissions, without those of its parents. */
  permissions: readonly Permission[];
}

export interface EffectivePermission {
  permission: Permission;
  sourceRoleId: string;
  sourceRoleName: string;
  /** False when the role itself grants the permission. */
  inherited: boolean;
}

/**
 * Returns the effective permissions of a role: its own and those of its parents, each once, with the nearest role that
 * grants it as its source.
 * @param chain  the role first, then its parent, and so on; parents beyond `MAX_PARENT_DEPTH` are ignored
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

/** Returns a role followed by its parents. Ends at an unknown parent, a cycle or the tenth parent. */
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
 * Checks whether `parentRoleId` as parent of `roleId` would create a cycle.
 * @param parentOf  returns the current parent of a role, or null
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
