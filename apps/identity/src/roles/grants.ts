import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { missingPermissions, type Permission } from '@rmm/permissions';
import type { SqlExecutor } from '@rmm/persistence';
import { BadRequestError, ForbiddenError } from '@rmm/service-kit';
import type { MemberScope } from '../members/member-scope.service.js';
import { RoleLock } from './role-lock.js';
import { RolesRepository, type GrantableRole } from './roles.repository.js';

export class PermissionNotDelegable extends ForbiddenError {
  override code = 'permission_not_delegable';
  override error = 'You can only grant what you hold';
}

export class InvalidRoleScope extends BadRequestError {
  override code = 'invalid_role_scope';
  override error = 'Role does not belong to this scope';
}

/** The one subset rule of every grant: nobody gives what it does not hold. @see CONTRACT.md 4, "ceiling" */
@Injectable()
export class Grants {
  constructor(
    private readonly roles: RolesRepository,
    private readonly lock: RoleLock,
  ) {}

  /**
   * The role a caller wants to give on an axis, judged in the transaction that gives it: until its end the role
   * neither grows nor goes.
   * @throws InvalidRoleScope when the axis has no such role; PermissionNotDelegable
   */
  async roleFor(tx: SqlExecutor, caller: UserCaller, axis: MemberScope, roleId: string): Promise<GrantableRole> {
    await this.lock.share(tx, axis.partnerId);
    const role = await this.roles.findGrantable(tx, axis, roleId);
    if (!role) throw new InvalidRoleScope();
    this.assertHeld(caller, role.permissions);
    return role;
  }

  /** @throws PermissionNotDelegable unless the caller holds every one of them; wildcards only by who holds `*:*` */
  assertHeld(caller: UserCaller, permissions: readonly Permission[]): void {
    if (missingPermissions(caller.permissions, permissions).length > 0) throw new PermissionNotDelegable();
  }
}
