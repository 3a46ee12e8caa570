import { Injectable } from '@nestjs/common';
import { InvalidAccessToken, PermissionDenied, PermissionNotDelegable, type UserCaller } from '@rmm/access';
import { hasPermission, missingPermissions, type Permission } from '@rmm/permissions';
import { AccessRepository } from '../access/access.repository.js';
import type { MemberScope } from '../members/member-scope.service.js';
import type { Transaction } from '../transaction.js';
import { InvalidRoleScope } from './role.errors.js';
import { RolesRepository, type GrantableRole } from './roles.repository.js';

/** Decides which permissions a caller may grant: only those it has itself. @see docs/reference/users-and-roles.md */
@Injectable()
export class RoleGrantPolicy {
  constructor(
    private readonly roles: RolesRepository,
    private readonly access: AccessRepository,
  ) {}

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

  /**
   * Returns the caller with the permissions and restrictions stored now. A request that waited for a lock must not act by
   * those it came with: the caller may have been demoted meanwhile. Call it when the locks are held.
   * @param needed  the permission that the route requires
   * @throws InvalidAccessToken when the membership ended; PermissionDenied when the caller lost the permission
   */
  async refreshCaller(tx: Transaction, caller: UserCaller, needed: Permission): Promise<UserCaller> {
    if (caller.scope === 'system') return caller; // no request changes it
    const access = await this.access.findAccess(tx, caller);
    if (!access) throw new InvalidAccessToken();
    const current = { ...caller, ...access, permissions: new Set(access.permissions) };
    const isAllowed = hasPermission(current.permissions, needed) && current.orgAccess === caller.orgAccess;
    if (!isAllowed) throw new PermissionDenied([needed]);
    return current;
  }

  /** Lets no role of the partner change until the transaction ends. */
  lockRoles(tx: Transaction, partnerId: string): Promise<void> {
    return this.roles.lockAgainstChange(tx, partnerId);
  }
}
