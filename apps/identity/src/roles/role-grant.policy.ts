import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { missingPermissions, type Permission } from '@rmm/permissions';
import type { MemberScope } from '../members/member-scope.service.js';
import type { Transaction } from '../transaction.js';
import { InvalidRoleScope, PermissionNotDelegable } from './role.errors.js';
import { RolesRepository, type GrantableRole } from './roles.repository.js';

/** Decides which permissions a caller may grant: only those it has itself. @see docs/reference/users-and-roles.md */
@Injectable()
export class RoleGrantPolicy {
  constructor(private readonly roles: RolesRepository) {}

  /**
   * Returns a role the caller may assign in a scope, and locks it: until the transaction ends it neither gains
   * permissions nor is deleted.
   * @throws InvalidRoleScope when the scope has no such role; PermissionNotDelegable
   */
  async getGrantableRole(
    tx: Transaction,
    caller: UserCaller,
    scope: MemberScope,
    roleId: string,
  ): Promise<GrantableRole> {
    await this.lockRoles(tx, scope.partnerId);
    const role = await this.roles.findGrantable(tx, scope, roleId);
    if (!role) throw new InvalidRoleScope();
    this.assertCanGrant(caller, role.permissions);
    return role;
  }

  /** @throws PermissionNotDelegable unless the caller has every permission; wildcards need `*:*` */
  assertCanGrant(caller: UserCaller, permissions: readonly Permission[]): void {
    if (missingPermissions(caller.permissions, permissions).length > 0) throw new PermissionNotDelegable();
  }

  /**
   * Checks that the caller has every permission of these roles, which a change of a user with them requires.
   * @throws PermissionNotDelegable
   */
  async assertHasPermissionsOf(
    tx: Transaction,
    caller: UserCaller,
    roleIds: readonly (string | null)[],
  ): Promise<void> {
    this.assertCanGrant(caller, await this.roles.listPermissions(tx, roleIds));
  }

  /** Lets no role of the partner change until the transaction ends. */
  lockRoles(tx: Transaction, partnerId: string): Promise<void> {
    return this.roles.lockAgainstChange(tx, partnerId);
  }
}
