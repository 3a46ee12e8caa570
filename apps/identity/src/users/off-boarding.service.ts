import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { AccessChanges } from '../access/access-changes.js';
import { RoleLock } from '../roles/role-lock.js';
import { SessionEnder } from '../sessions/session-ender.js';
import type { AxisQueryDto } from './dto.js';
import { MemberChanges } from './member-changes.js';
import { SelfActionRefused } from './members.errors.js';
import { MembershipsRepository, tenantOf } from './memberships.repository.js';
import { UserAxes } from './user-axis.js';

/** Somebody leaves a tenant: the membership goes, the account and its other memberships stay. @see CONTRACT.md 4.5 */
@Injectable()
export class OffBoardingService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly axes: UserAxes,
    private readonly changes: MemberChanges,
    private readonly memberships: MembershipsRepository,
    private readonly lock: RoleLock,
    private readonly sessions: SessionEnder,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
  ) {}

  /**
   * Sessions end in the same transaction, and with its commit on every service.
   * @throws SelfActionRefused, NotFoundError, PermissionNotDelegable, LastAdmin
   */
  async remove(caller: UserCaller, userId: string, named: AxisQueryDto): Promise<void> {
    if (userId === caller.userId) throw new SelfActionRefused();
    const axis = await this.axes.of(caller, named);
    await this.worker.transaction(async (tx) => {
      await this.lock.share(tx, axis.partnerId);
      const member = await this.changes.hold(tx, caller, axis, userId);
      await this.changes.assertNotLastAdmin(tx, axis, userId, member);
      await this.memberships.remove(tx, axis, userId);
      const sessions = await this.sessions.endAll(tx, userId, 'membership_gone');
      await this.access.announce(tx, { userIds: [userId], reason: 'membership_gone' });
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(axis) };
      await this.audit.record(tx, caller, 'user.remove', resource, { roleId: member.roleId, sessions });
    });
  }
}
