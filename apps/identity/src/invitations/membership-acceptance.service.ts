import { Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import type { WorkerTransaction } from '@rmm/persistence';
import { AccessChangesService } from '../access/access-changes.service.js';
import { selfCaller, unknownCaller } from '../audit/actors.js';
import type { LoginRefusal } from '../login/login.errors.js';
import { tenantIsActive, type User, type UserMembership } from '../users/user.js';
import { InviteInvalid } from './invitation.errors.js';
import { InvitationsRepository } from './invitations.repository.js';

/** Makes an invited user a member, in the transaction that starts the session in the new membership. */
@Injectable()
export class MembershipAcceptanceService {
  constructor(
    private readonly invitations: InvitationsRepository,
    private readonly accessChanges: AccessChangesService,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Uses a link of the user up.
   * @returns the user with the accepted membership
   * @throws InviteInvalid for the link of another user, a used or expired one, and a suspended tenant
   */
  async accept(
    tx: WorkerTransaction,
    tokenHash: Buffer,
    userId: string,
  ): Promise<{ user: User; membership: UserMembership }> {
    const tenant = await this.invitations.accept(tx, tokenHash, userId);
    const user = tenant && (await this.invitations.findUser(tx, userId));
    const membership = user?.memberships.find(
      (m) => m.partnerId === tenant?.partnerId && m.orgId === tenant.orgId && tenantIsActive(m),
    );
    if (user?.status !== 'active' || !membership) throw new InviteInvalid();
    await this.accessChanges.publish(tx, { userIds: [userId], reason: 'invite_accepted' });
    const resource = { type: 'user', id: userId, name: user.name };
    await this.audit.record(tx, selfCaller(user, membership), 'user.invite.accepted', resource);
    return { user, membership };
  }

  /** Records a wrong password, under the membership that the user would enter: the inviting tenant learns nothing. */
  async recordFailure(user: User | null, reason: LoginRefusal): Promise<void> {
    const caller = user ? selfCaller(user, user.memberships[0] ?? null) : unknownCaller();
    const resource = { type: 'user', id: user?.id ?? null, name: user?.name ?? null };
    await this.audit.recordDirect(caller, 'user.login.failed', resource, { reason, method: 'invite' }, 'failure');
  }
}
