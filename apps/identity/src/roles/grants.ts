import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { missingFrom } from '@rmm/permissions';
import { Tenants } from '@rmm/persistence';
import { BadRequestError, ForbiddenError } from '@rmm/service-kit';
import type { UserAxis } from '../users/user-axis.js';
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
    private readonly tenants: Tenants,
    private readonly roles: RolesRepository,
  ) {}

  /**
   * The role a caller wants to give on an axis.
   * @throws InvalidRoleScope when the axis has no such role; PermissionNotDelegable
   */
  async roleFor(caller: UserCaller, axis: UserAxis, roleId: string): Promise<GrantableRole> {
    const role = await this.roles.findGrantable(this.tenants.reader(caller), axis, roleId);
    if (!role) throw new InvalidRoleScope();
    if (missingFrom(caller.permissions, role.permissions).length > 0) throw new PermissionNotDelegable();
    return role;
  }
}
