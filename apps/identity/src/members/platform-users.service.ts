import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatchAny, ValidationError } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import type { UserAccount } from '../users/user-account.entity.js';
import type { UserStatus } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import type { PlatformUserDto } from './dto/platform-user.dto.js';
import type { UpdateUserDto } from './dto/update-user.dto.js';
import { LastAdmin, SelfActionRefused } from './member.errors.js';
import { toMembershipFields, toPlatformUserDto } from './member.mapper.js';
import { MembersRepository } from './members.repository.js';

/** Users as platform administrators change them. */
@Injectable()
export class PlatformUsersService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly users: UsersRepository,
    private readonly members: MembersRepository,
    private readonly sessions: SessionRevocationsService,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
  ) {}

  /**
   * Updates a user, with memberships or without. Only platform administrators may: a user belongs to no single tenant.
   * Any other status than `active` ends every session in the same transaction.
   * @throws NotFoundError; ValidationError for an invited user without a password; SelfActionRefused when callers would lock themselves out; RecordChanged; LastAdmin
   */
  async update(caller: UserCaller, userId: string, dto: UpdateUserDto): Promise<PlatformUserDto> {
    if (Object.values(dto).every((value) => value === undefined)) {
      throw ValidationError.forField('body', 'names no field to change');
    }
    if (userId === caller.userId && dto.status !== undefined && dto.status !== 'active') throw new SelfActionRefused();
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.users.lock(tx, userId);
      await assertIfMatchAny(() => this.formsOf(tx, before));
      if (before.isPlatformAdmin && leavesActive(before.status, dto.status)) {
        await this.users.lockPlatformAdmins(tx);
        if (!(await this.users.hasAnotherPlatformAdmin(tx, userId))) throw new LastAdmin();
      }
      if (before.status === 'invited' && dto.status === 'active') await this.assertHasPassword(tx, userId);
      const { name = before.name, status = before.status, disabledReason = before.disabledReason } = dto;
      const reason = status === 'disabled' ? disabledReason : null;
      const after = await this.users.change(tx, userId, { name, status, disabledReason: reason });
      const endsSessions = leavesActive(before.status, after.status);
      const sessions = endsSessions ? await this.sessions.revokeAllAndIncrementEpoch(tx, userId, 'not_active') : 0;
      if (!endsSessions) await this.accessChanges.publish(tx, { userIds: [userId], reason: 'user_changed' });
      const details = { fields: Object.keys(dto), status: { from: before.status, to: after.status }, sessions };
      await this.audit.record(tx, caller, 'user.update', { type: 'user', id: userId, name: after.email }, details);
      return toPlatformUserDto(after);
    });
  }

  /** Returns the user as this route and, for each membership, `GET /users/:id` show it. */
  private async formsOf(tx: TenantTransaction, account: UserAccount): Promise<object[]> {
    const memberships = await this.members.listOfUser(tx, account.id);
    return [
      toPlatformUserDto(account),
      ...memberships.map((member) => toMembershipFields(account.id, member, member.scope)),
    ];
  }

  /** An active account without a password would have no way in: its invitation ends with the status. */
  private async assertHasPassword(tx: TenantTransaction, userId: string): Promise<void> {
    const user = await this.users.findById(tx, userId);
    if (!user?.passwordHash) throw ValidationError.forField('status', 'must be set by accepting the invitation');
  }
}

const leavesActive = (before: UserStatus, after: UserStatus | undefined): boolean =>
  before === 'active' && after !== undefined && after !== 'active';
