import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/service-kit';
import { selfCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { SessionStarter, type FinishedLogin } from '../sessions/session-starter.js';
import { UsersRepository } from '../users/users.repository.js';
import { tenantIsActive, type UserMembership, type User } from '../users/user.js';
import { CodeChecker } from './code-checker.js';
import { FactorsRepository } from './factors.repository.js';
import { MfaCodeInvalid, MfaMethodMismatch, MfaSessionInvalid } from './mfa.errors.js';
import { PendingLogins, stillTheSame } from './pending-logins.js';
import { normalizeRecoveryCode } from './recovery-codes.js';

export type VerifyMethod = 'totp' | 'sms' | 'recovery';

/** The second step of a login. */
@Injectable()
export class MfaLoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly pendingLogins: PendingLogins,
    private readonly codes: CodeChecker,
    private readonly factors: FactorsRepository,
    private readonly starter: SessionStarter,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Trades a temporary token and a code for a session with `mfa: true`.
   * @throws MfaSessionInvalid 401; MfaCodeInvalid, MfaMethodMismatch 400; RateLimitedError per user, not per token
   */
  async verify(tempToken: string, code: string, method?: VerifyMethod): Promise<FinishedLogin> {
    const pending = await this.pendingLogins.find(tempToken);
    if (!pending) throw new MfaSessionInvalid();
    await this.limits.hit(this.config.limits.mfaVerify, pending.userId);
    const user = await this.users.findById(this.worker, pending.userId);
    const membership = user?.memberships.find(tenantIsActive);
    if (!user || !membership || !stillTheSame(pending, user)) {
      await this.pendingLogins.end(tempToken);
      throw new MfaSessionInvalid();
    }
    const kind = method ?? (normalizeRecoveryCode(code) ? 'recovery' : 'totp');
    if (kind === 'sms') throw new MfaMethodMismatch();
    if (!(await this.isRight(user, kind, code))) return this.refuse(user, membership, kind);
    if (!(await this.pendingLogins.end(tempToken))) throw new MfaSessionInvalid();

    const finished = await this.openSession(user, membership, kind, code);
    await this.limits.reset(this.config.limits.mfaVerify, user.id);
    return finished;
  }

  private async openSession(
    user: User,
    membership: UserMembership,
    kind: VerifyMethod,
    code: string,
  ): Promise<FinishedLogin> {
    const started = await this.worker.transaction(async (tx) => {
      if (kind === 'recovery') {
        if (!(await this.codes.useRecoveryCode(tx, user.id, code))) throw new MfaCodeInvalid();
        const self = { type: 'user', id: user.id, name: user.name };
        await this.audit.record(tx, selfCaller(user, membership), 'auth.mfa.recovery_code.used', self);
      }
      const proven = { mfa: true, factorProven: true, passwordProven: true };
      return this.starter.start(tx, user, membership, { method: 'password', ...proven });
    });
    return this.starter.finish(started);
  }

  /** A recovery code is only looked at here; it is used up in the transaction of the session. */
  private isRight(user: User, kind: VerifyMethod, input: string): Promise<boolean> {
    if (kind === 'totp') return this.codes.checkTotp(this.worker, user.id, input);
    const code = normalizeRecoveryCode(input);
    if (!code) return Promise.resolve(false);
    return this.factors.hasRecoveryCode(this.worker, user.id, this.codes.hashRecoveryCode(user.id, code));
  }

  private async refuse(user: User, membership: UserMembership, method: VerifyMethod): Promise<never> {
    await this.audit.recordDirect(
      selfCaller(user, membership),
      'user.login.failed',
      { type: 'user', id: user.id, name: user.name },
      { reason: 'mfa_code', method },
      'failure',
    );
    throw new MfaCodeInvalid();
  }
}
