import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { NotFoundError, UnauthenticatedError, ValidationError } from '@rmm/service-kit';
import { InvitationsRepository } from '../invitations/invitations.repository.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import type { LeaveTenantDto } from './dto/leave-tenant.dto.js';
import { LastAdminPolicy } from './last-admin.policy.js';
import { membershipKeyOf, tenantOf, type MemberScope } from './member-scope.service.js';
import { MembersRepository } from './members.repository.js';

/** Users who end their own membership or decline an invitation. Under the worker login: it may be of any tenant. */
@Injectable()
export class LeaveTenantService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly members: MembersRepository,
    private readonly invitations: InvitationsRepository,
    private readonly lastAdmin: LastAdminPolicy,
    private readonly sessions: SessionRevocationsService,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Ends the sessions that entered the membership, in the same transaction, and no others.
   * @throws NotFoundError for a tenant that the user neither belongs nor is invited to; LastAdmin; ValidationError
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
    await this.lastAdmin.assertAnother(tx, scope, userId, member);
    const sessions = await this.sessions.revokeInMembership(tx, userId, membershipKeyOf(scope), 'membership_gone');
    await this.members.remove(tx, scope, userId);
    const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
    await this.audit.record(tx, caller, 'user.leave', resource, { roleId: member.roleId, sessions });
  }
}
