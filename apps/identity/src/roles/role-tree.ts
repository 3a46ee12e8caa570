import {
  effectivePermissions,
  MAX_PARENT_DEPTH,
  parentChain,
  wouldCreateCycle,
  type EffectivePermission,
  type Permission,
  type RoleNode,
} from '@rmm/permissions';
import { CircularInheritance, InheritanceTooDeep, InvalidParentRole } from './role.errors.js';

/** The roles of one scope with their parents; resolves inheritance. */
export class RoleTree {
  private readonly roles: Map<string, RoleNode>;

  constructor(roles: readonly RoleNode[]) {
    this.roles = new Map(roles.map((role) => [role.id, role]));
  }

  /** Returns the role, then its parent, and so on. */
  getChain(roleId: string): RoleNode[] {
    return parentChain(roleId, this.roles);
  }

  /** Returns all permissions of a role, each with its nearest source. */
  getEffective(roleId: string): EffectivePermission[] {
    return effectivePermissions(this.getChain(roleId));
  }

  /** Returns the permissions that a role with these own permissions and this parent would grant. */
  combine(own: readonly Permission[], parentRoleId: string | null): Permission[] {
    const inherited = parentRoleId === null ? [] : this.getEffective(parentRoleId).map(({ permission }) => permission);
    return [...new Set([...own, ...inherited])];
  }

  /** Returns the roles that inherit from a role, at any distance. */
  listDescendants(roleId: string): string[] {
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
   * Checks that a role may have this parent; null names a role that does not exist yet.
   * @throws InvalidParentRole, CircularInheritance, InheritanceTooDeep
   */
  assertParent(roleId: string | null, parentRoleId: string): void {
    if (!this.roles.has(parentRoleId)) throw new InvalidParentRole();
    const parentOf = (id: string) => this.roles.get(id)?.parentRoleId;
    if (roleId !== null && wouldCreateCycle(roleId, parentRoleId, parentOf)) throw new CircularInheritance();
    const below = roleId === null ? 0 : this.heightOf(roleId);
    if (this.getChain(parentRoleId).length + below > MAX_PARENT_DEPTH) throw new InheritanceTooDeep();
  }

  /** Returns how many generations inherit from a role. */
  private heightOf(roleId: string): number {
    const below = this.listDescendants(roleId).map((id) => {
      const chain = this.getChain(id);
      return chain.findIndex((role) => role.id === roleId);
    });
    return Math.max(0, ...below);
  }
}
