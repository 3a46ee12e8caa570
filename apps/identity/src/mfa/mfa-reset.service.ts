import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { UserMfaReset } from '@rmm/contracts';
import { AuditTrail, Outbox, type AuditedResource } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { ForbiddenError, type DomainError } from '@rmm/service-kit';
import { MailService } from '../mail/mail.service.js';
import { MemberScopeService, type MemberScope } from '../members/member-scope.service.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import type { User } from '../users/user.types.js';
import { MfaResetPolicy } from './mfa-reset.policy.js';
import { MfaNotEnabled, SelfResetRefused } from './mfa.errors.js';
import { MfaRepository } from './mfa.repository.js';

/** Resets the factors of a user who lost them. @see docs/reference/mfa-and-policies.md */
@Injectable()
export class MfaResetService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scopes: MemberScopeService,
    private readonly policy: MfaResetPolicy,
    private readonly repository: MfaRepository,
    private readonly sessions: SessionRevocationsService,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly mail: MailService,
  ) {}

  /**
   * Deletes every factor, phone and recovery codes and ends every session, in one transaction. The user enrolls a new
   * factor at the next login, without another enrollment window.
   * @param named  partner or organization, as in all calls about members
   * @throws SelfResetRefused, NotFoundError, UserInOtherTenants, PermissionNotDelegable, MfaNotEnabled
   */
  async reset(caller: UserCaller, userId: string, named: { orgId?: string; partnerId?: string }): Promise<void> {
    if (userId === caller.userId) return this.deny(caller, { type: 'user', id: userId }, new SelfResetRefused());
    const scope = await this.scopes.resolve(caller, named);
    await this.policy.assertIsMember(caller, scope, userId);
    const resource: AuditedResource = { type: 'user', id: userId, ...ownerOf(scope) };
    try {
      await this.policy.withPermittedTarget(caller, userId, (user) => this.clear(caller, user, scope, resource));
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
      await this.deny(caller, resource, error);
    }
  }

  private async deny(caller: UserCaller, resource: AuditedResource, error: DomainError): Promise<never> {
    await this.audit.recordDirect(caller, 'user.mfa_reset', resource, { reason: error.code }, 'denied');
    throw error;
  }

  /** Runs under row-level security, as every write of a tenant's administrator. */
  private clear(caller: UserCaller, user: User, scope: MemberScope, resource: AuditedResource): Promise<void> {
    const userId = user.id;
    return this.tenants.transaction(caller, async (tx) => {
      const epochs = await this.repository.clear(tx, userId, user.mfaEpoch);
      if (!epochs) throw new MfaNotEnabled();
      const sessions = await this.sessions.revokeAll(tx, userId, 'mfa_reset');
      const details = { method: user.mfaMethod, sessions };
      await this.audit.record(tx, caller, 'user.mfa_reset', { ...resource, name: user.name }, details);
      const data: UserMfaReset = { userId, mfaEpoch: epochs.mfaEpoch };
      await this.outbox.publish(tx, {
        stream: 'internal',
        type: 'user.mfa_reset',
        aggregateId: userId,
        aggregateVersion: epochs.mfaEpoch,
        ...ownerOf(scope),
        actor: caller.actor,
        data,
      });
      await this.mail.add(tx, { to: user.email, template: 'mfa-reset', values: { name: user.name } });
    });
  }
}

const ownerOf = (scope: MemberScope) => ({
  partnerId: scope.partnerId,
  orgId: scope.kind === 'organization' ? scope.orgId : null,
});
