import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { type UserMfaReset } from '@rmm/contracts';
import { AuditTrail, Outbox, type AuditedResource } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { ForbiddenError, NotFoundError, type DomainError } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { SessionsRepository } from '../sessions/sessions.repository.js';
import { MembersRepository } from '../members/members.repository.js';
import { MemberScopeService, type MemberScope } from '../members/member-scope.service.js';
import { FactorsRepository } from './factors.repository.js';
import { MfaNotEnabled, SelfResetRefused } from './mfa.errors.js';
import { ResetTargets } from './reset-targets.js';

/** Taking the factors of somebody who lost them. @see SPEC.md 5.6, "admin MFA reset" */
@Injectable()
export class MfaResetService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly axes: MemberScopeService,
    private readonly members: MembersRepository,
    private readonly targets: ResetTargets,
    private readonly factors: FactorsRepository,
    private readonly sessions: SessionsRepository,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
    private readonly outbox: Outbox,
    private readonly mail: MailOutbox,
  ) {}

  /**
   * Clears every factor, phone and recovery codes and ends every session, in one transaction; the user enrolls anew at
   * its next login, without another window.
   * @param named  the axis, as for all calls on users
   * @throws SelfResetRefused, NotFoundError, UserInOtherTenants, PermissionNotDelegable, MfaNotEnabled
   */
  async reset(caller: UserCaller, userId: string, named: { orgId?: string; partnerId?: string }): Promise<void> {
    if (userId === caller.userId) return this.deny(caller, { type: 'user', id: userId }, new SelfResetRefused());
    const axis = await this.axes.resolve(caller, named);
    const { rows } = await this.members.list(caller, axis, { page: 1, limit: 1 }, userId);
    if (rows.length === 0) throw new NotFoundError('User');
    const resource: AuditedResource = { type: 'user', id: userId, ...ownerOf(axis) };
    try {
      await this.clear(caller, userId, axis, resource);
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
      await this.deny(caller, resource, error);
    }
  }

  private async deny(caller: UserCaller, resource: AuditedResource, error: DomainError): Promise<never> {
    await this.audit.recordDirect(caller, 'user.mfa_reset', resource, { reason: error.code }, 'denied');
    throw error;
  }

  private clear(caller: UserCaller, userId: string, axis: MemberScope, resource: AuditedResource): Promise<void> {
    return this.worker.transaction(async (tx) => {
      const user = await this.targets.hold(tx, caller, userId);
      const epochs = await this.factors.clear(tx, userId, user.mfaEpoch);
      if (!epochs) throw new MfaNotEnabled();
      const sessions = await this.sessions.revokeAll(tx, userId, 'mfa_reset');
      await this.accessChanges.publish(tx, { userIds: [userId], reason: 'mfa_reset' });
      const details = { method: user.mfaMethod, sessions };
      await this.audit.record(tx, caller, 'user.mfa_reset', { ...resource, name: user.name }, details);
      const data: UserMfaReset = { userId, mfaEpoch: epochs.mfaEpoch };
      await this.outbox.publish(tx, {
        stream: 'internal',
        type: 'user.mfa_reset',
        aggregateId: userId,
        aggregateVersion: epochs.mfaEpoch,
        ...ownerOf(axis),
        actor: caller.actor,
        data,
      });
      await this.mail.add(tx, { to: user.email, template: 'mfa-reset', values: { name: user.name } });
    });
  }
}

const ownerOf = (axis: MemberScope) => ({
  partnerId: axis.partnerId,
  orgId: axis.kind === 'organization' ? axis.orgId : null,
});
