import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { AccessChanges } from '../access/access-changes.js';
import { Grants } from '../roles/grants.js';
import type { AssignRoleDto } from './dto.js';
import { MemberChanges } from './member-changes.js';
import { SelfActionRefused } from './members.errors.js';
import { isAdminRole, MembershipsRepository, tenantOf } from './memberships.repository.js';
import { UserAxes } from './user-axis.js';

/** Giving a member another role. */
@Injectable()
export class RoleAssignmentService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly axes: UserAxes,
    private readonly changes: MemberChanges,
    private readonly memberships: MembershipsRepository,
    private readonly grants: Grants,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
  ) {}

  /** @throws SelfActionRefused, NotFoundError, InvalidRoleScope, PermissionNotDelegable, LastAdmin */
  async assign(caller: UserCaller, userId: string, dto: AssignRoleDto): Promise<void> {
    if (userId === caller.userId) throw new SelfActionRefused();
    const axis = await this.axes.of(caller, dto);
    await this.tenants.transaction(caller, async (tx) => {
      const role = await this.grants.roleFor(tx, caller, axis, dto.roleId);
      const member = await this.changes.hold(tx, caller, axis, userId);
      if (!isAdminRole(role)) await this.changes.assertNotLastAdmin(tx, axis, userId, member);
      await this.memberships.setRole(tx, axis, userId, role.id);
      await this.access.announce(tx, { userIds: [userId], reason: 'role_assigned' });
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(axis) };
      await this.audit.record(tx, caller, 'user.role.assign', resource, { from: member.roleId, to: role.id });
    });
  }
}
