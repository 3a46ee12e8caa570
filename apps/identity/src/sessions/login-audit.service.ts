import { Injectable } from '@nestjs/common';
import { AuditTrail, type AuditedCaller, type AuditedResource, type OutboxTransaction } from '@rmm/messaging';
import { selfCaller } from '../audit/actors.js';
import type { User } from '../users/user.types.js';
import type { EnteredTenant } from './address-list.policy.js';
import { type LoginMethod, LoginMetrics } from './login.metrics.js';
import type { SessionMethod } from './session-family.entity.js';

/** The reason of a refused login, and the factor it was refused for. */
export interface LoginFailure {
  reason: string;
  /** The method as in the audit entry: that of the login, or the factor of its second step. */
  method: string;
}

/** Records the outcomes of logins, in the audit log and in the metrics. */
@Injectable()
export class LoginAuditService {
  constructor(
    private readonly audit: AuditTrail,
    private readonly metrics: LoginMetrics,
  ) {}

  /** Records a login in its transaction; counted once that is committed. */
  async recordLogin(
    tx: OutboxTransaction,
    user: User,
    membership: EnteredTenant,
    { method, mfa }: { method: SessionMethod; mfa: boolean },
  ): Promise<void> {
    tx.afterCommit(() => this.metrics.countLogin(method, 'accepted'));
    const self = { type: 'user', id: user.id, name: user.name };
    await this.audit.record(tx, selfCaller(user, membership), 'user.login', self, { method, mfa });
  }

  /** @param counted  the method in the metrics */
  async recordFailure(
    caller: AuditedCaller,
    resource: AuditedResource,
    details: LoginFailure,
    counted: LoginMethod,
  ): Promise<void> {
    this.metrics.countLogin(counted, details.reason);
    await this.audit.recordDirect(caller, 'user.login.failed', resource, { ...details }, 'failure');
  }

  /** Records that the address list of the tenant refused the client of a login. */
  async recordDeniedAddress(user: Pick<User, 'id' | 'email'>, membership: EnteredTenant): Promise<void> {
    const self = { type: 'user', id: user.id };
    const details = { during: 'login' };
    await this.audit.recordDirect(selfCaller(user, membership), 'ip_allowlist.denied', self, details, 'denied');
  }
}
