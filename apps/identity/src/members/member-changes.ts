import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { SqlExecutor } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { Grants } from '../roles/grants.js';
import { RolesRepository } from '../roles/roles.repository.js';
import { LastAdmin } from './member.errors.js';
import { isAdminRole, MembershipsRepository, type HeldMember } from './memberships.repository.js';
import { assertWithin } from './reach.js';
import type { MemberScope } from './member-scope.service.js';

/** What every change of somebody else's membership begins with. */
@Injectable()
export class MemberChanges {
  constructor(
    private readonly memberships: MembershipsRepository,
    private readonly roles: RolesRepository,
    private readonly grants: Grants,
  ) {}

  /**
   * Holds the membership. A lesser administrator neither demotes nor removes somebody who may do more or reaches more.
   * @throws NotFoundError, PermissionNotDelegable, SiteAccessDenied
   */
  async hold(tx: SqlExecutor, caller: UserCaller, axis: MemberScope, userId: string): Promise<HeldMember> {
    const member = await this.memberships.hold(tx, axis, userId);
    if (!member) throw new NotFoundError('User');
    this.grants.assertHeld(caller, await this.roles.permissionsOf(tx, [member.roleId]));
    assertWithin(caller.siteIds, member.siteIds);
    assertWithin(caller.deviceGroupIds, member.deviceGroupIds);
    return member;
  }

  /** @throws LastAdmin when the member is the partner's last active administrator */
  async assertNotLastAdmin(tx: SqlExecutor, axis: MemberScope, userId: string, member: HeldMember): Promise<void> {
    if (axis.kind !== 'partner' || !isAdminRole(member)) return;
    if (!(await this.memberships.hasAnotherAdmin(tx, axis.partnerId, userId))) throw new LastAdmin();
  }
}
