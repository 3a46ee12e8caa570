import {
  parentChain,
  effectivePermissions,
  isPermission,
  MAX_PARENT_DEPTH,
  wouldCreateCycle,
  type EffectivePermission,
  type Permission,
  type RoleNode,
} from '@rmm/permissions';
import { ValidationError } from '@rmm/service-kit';
import type { PermissionPairDto } from './dto.js';
import { CircularInheritance, InheritanceTooDeep, InvalidParentRole } from './roles.errors.js';

/** The roles of one axis with their parents, as they stand: what inheritance is judged by. */
export class RoleTree {
  private readonly roles: Map<string, RoleNode>;

  constructor(roles: readonly RoleNode[]) {
    this.roles = new Map(roles.map((role) => [role.id, role]));
  }

  /** The role first, then its parent, and so on. */
  chain(roleId: string): RoleNode[] {
    return parentChain(roleId, this.roles);
  }

  effective(roleId: string): EffectivePermission[] {
    return effectivePermissions(this.chain(roleId));
  }

  /** What a role with these own pairs and this parent would give. */
  inForceWith(own: readonly Permission[], parentRoleId: string | null): Permission[] {
    const inherited = parentRoleId === null ? [] : this.effective(parentRoleId).map(({ permission }) => permission);
    return [...new Set([...own, ...inherited])];
  }

  /** Everything that inherits from a role, at any distance. */
  descendants(roleId: string): string[] {
    const found = new Set<string>();
    let level = [roleId];
    while (level.length > 0) {
      const parents = new Set(level);
      const children = [...this.roles.values()].filter((role) => parents.has(role.parentRoleId ?? ''));
      level = children.map(({ id }) => id).filter((id) => id !== roleId && !found.has(id));
      for (const id of level) found.add(id);
    }
    return [...found];
  }

  /**
   * May this role have this parent? A new role is named by null.
   * @throws InvalidParentRole, CircularInheritance, InheritanceTooDeep
   */
  assertParent(roleId: string | null, parentRoleId: string): void {
    if (!this.roles.has(parentRoleId)) throw new InvalidParentRole();
    const parentOf = (id: string) => this.roles.get(id)?.parentRoleId;
    if (roleId !== null && wouldCreateCycle(roleId, parentRoleId, parentOf)) throw new CircularInheritance();
    const below = roleId === null ? 0 : this.heightOf(roleId);
    if (this.chain(parentRoleId).length + below > MAX_PARENT_DEPTH) throw new InheritanceTooDeep();
  }

  /** How many generations stand below a role. */
  private heightOf(roleId: string): number {
    const below = this.descendants(roleId).map((id) => {
      const chain = this.chain(id);
      return chain.findIndex((role) => role.id === roleId);
    });
    return Math.max(0, ...below);
  }
}

/** Returns the permissions a request names, each once. @throws ValidationError naming every unknown permission */
export function knownPermissions(pairs: readonly PermissionPairDto[]): Permission[] {
  const texts = pairs.map(({ resource, action }) => `${resource}:${action}`);
  const unknown = texts.flatMap((text, i) =>
    isPermission(text) ? [] : [[`permissions.${i}`, [`unknown permission ${text}`]]],
  );
  if (unknown.length > 0) {
    throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(unknown) as Record<string, string[]> });
  }
  return [...new Set(texts.filter(isPermission))];
}
