import { Injectable } from '@nestjs/common';
import { OrganizationAccessDenied, type UserCaller } from '@rmm/access';
import { NotFoundError } from '@rmm/service-kit';
import type { AxisQueryDto } from '../members/dto/dto.js';
import { MemberScopeService, type MemberScope } from '../members/member-scope.service.js';
import { RolesRepository } from './roles.repository.js';

/** On whose behalf a call about roles is made. The role's own axis decides, not the caller's focus. */
@Injectable()
export class RoleAxes {
  constructor(
    private readonly axes: MemberScopeService,
    private readonly roles: RolesRepository,
  ) {}

  /** The axis the caller named, or its own. */
  named(caller: UserCaller, { orgId, partnerId }: AxisQueryDto): Promise<MemberScope> {
    return this.axes.of(caller, { orgId, partnerId });
  }

  /**
   * The named axis, else that of the role itself; a role of another axis is none of it.
   * @throws NotFoundError for a role the caller does not reach
   */
  async ofRole(caller: UserCaller, roleId: string, named: AxisQueryDto): Promise<MemberScope> {
    const owner = await this.roles.findOwner(caller, roleId);
    if (!owner) throw new NotFoundError('Role');
    if (named.orgId !== undefined || named.partnerId !== undefined || owner.partnerId === null) {
      return this.axes.of(caller, named);
    }
    try {
      return await this.axes.of(caller, owner.orgId === null ? { partnerId: owner.partnerId } : { orgId: owner.orgId });
    } catch (error) {
      if (error instanceof OrganizationAccessDenied) throw new NotFoundError('Role', { cause: error });
      throw error;
    }
  }
}
