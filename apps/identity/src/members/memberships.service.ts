import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { NotFoundError, UnauthenticatedError, ValidationError } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { selfCaller, unknownCaller } from '../audit/actors.js';
import { InviteInvalid } from '../invitations/invitation.errors.js';
import { InvitationsRepository } from '../invitations/invitations.repository.js';
import type { LoginRefusal } from '../login/login.errors.js';
import { LoginAuditService } from '../sessions/login-audit.service.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import { tenantIsActive, type User, type UserMembership } from '../users/user.types.js';
import type { LeaveTenantDto } from './dto/leave-tenant.dto.js';
import { assertAnotherAdmin } from './last-admin.policy.js';
import { membershipKeyOf, tenantOf, type MemberScope } from './member-scope.service.js';
import { ManagedByScim } from './member.errors.js';
import { MembersRepository } from './members.repository.js';

/**
 * Begins and ends memberships for the user who has them: accepts or declines an invitation, leaves a tenant. Under the
 * worker login, because the tenant may be any.
 */
@Injectable()
export class MembershipsService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly members: MembersRepository,
    private readonly invitations: InvitationsRepository,
    private readonly sessions: SessionRevocationsService,
    private readonly accessChanges: AccessChangesService,
    private readonly audit: AuditTrail,
    private readonly logins: LoginAuditService,
  ) {}

  /**
   * Makes an invited user a member and uses the link up, in the transaction that starts the session in the membership.
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

  /** Records a wrong password for an invitation, with the user's own tenant: the inviting one learns nothing. */
  async recordRefusedAcceptance(user: User | null, reason: LoginRefusal): Promise<void> {
    const caller = user ? selfCaller(user, user.memberships[0] ?? null) : unknownCaller();
    const resource = { type: 'user', id: user?.id ?? null, name: user?.name ?? null };
    await this.logins.recordFailure(caller, resource, { reason, method: 'invite' }, 'invite');
  }

  /**
   * Ends a membership of the caller, or declines an invitation. The sessions that entered the membership end in the same
   * transaction, and no others.
   * @throws NotFoundError for a tenant that the user neither belongs nor is invited to; LastAdmin; ManagedByScim; ValidationError
   */
  async leaveTenant(caller: UserCaller, { orgId, partnerId }: LeaveTenantDto): Promise<void> {
    if ((orgId === undefined) === (partnerId === undefined)) {
      throw ValidationError.forField('orgId', 'name orgId or partnerId');
    }
    const user = await this.invitations.findUser(this.worker, caller.userId);
    if (!user) throw new UnauthenticatedError();
    const invited = await this.invitations.listOfUser(this.worker, caller.userId);
    const isNamed = (m: { partnerId: string | null; orgId: string | null }) =>
      orgId === undefined ? m.orgId === null && m.partnerId === partnerId : m.orgId === orgId;
    const named = user.memberships.find(isNamed) ?? invited.find(isNamed);
    if (!named?.partnerId) throw new NotFoundError('Membership');
    const scope: MemberScope =
      named.orgId === null
        ? { kind: 'partner', partnerId: named.partnerId }
        : { kind: 'organization', partnerId: named.partnerId, orgId: named.orgId };
    await this.worker.transaction(async (tx) => {
      if (await this.members.exists(tx, scope, caller.userId)) return this.end(tx, caller, scope);
      if (!(await this.invitations.remove(tx, tenantOf(scope), caller.userId))) throw new NotFoundError('Membership');
      // Filed with the caller's own tenant: the other one has learned nothing of the user's address or device.
      const resource = { type: 'user', id: caller.userId, name: user.email };
      await this.audit.record(tx, caller, 'user.invite.declined', resource, tenantOf(scope));
    });
  }

  private async end(tx: WorkerTransaction, caller: UserCaller, scope: MemberScope): Promise<void> {
    const { userId } = caller;
    const member = await this.members.lock(tx, scope, userId);
    if (member.managedByScim) throw new ManagedByScim();
    await assertAnotherAdmin(tx, this.members, { scope, userId, member });
    const sessions = await this.sessions.revokeInMembership(tx, userId, membershipKeyOf(scope), 'membership_gone');
    await this.members.remove(tx, scope, userId);
    const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
    await this.audit.record(tx, caller, 'user.leave', resource, { roleId: member.roleId, sessions });
  }
}
