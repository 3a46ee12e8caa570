import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/service-kit';
import { selfCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { LoginSessions, type FinishedLogin } from '../sessions/login-sessions.service.js';
import { tenantIsActive, type User, type UserMembership } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import type { VerifyMethod } from './dto/verify-mfa.dto.js';
import { MfaCodeVerifier } from './mfa-code-verifier.service.js';
import { MfaCodeInvalid, MfaMethodMismatch, MfaSessionInvalid } from './mfa.errors.js';
import { isUnchanged, PendingLogins } from './pending-logins.service.js';
import { normalizeRecoveryCode } from './recovery-codes.js';

/** The second step of a login. */
@Injectable()
export class MfaLoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly pendingLogins: PendingLogins,
    private readonly codes: MfaCodeVerifier,
    private readonly logins: LoginSessions,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Exchanges a temporary token and a code for a session with `mfa: true`.
   * @throws MfaSessionInvalid 401; MfaCodeInvalid, MfaMethodMismatch 400; RateLimitedError per user, not per token
   */
  async verify(tempToken: string, code: string, method?: VerifyMethod): Promise<FinishedLogin> {
    const pending = await this.pendingLogins.find(tempToken);
    if (!pending) throw new MfaSessionInvalid();
    await this.limits.hit(this.config.limits.mfaVerify, pending.userId);
    const user = await this.users.findById(this.worker, pending.userId);
    const membership = user?.memberships.find(tenantIsActive);
    if (!user || !membership || !isUnchanged(pending, user)) {
      await this.pendingLogins.consume(tempToken);
      throw new MfaSessionInvalid();
    }
    const kind = method ?? (normalizeRecoveryCode(code) ? 'recovery' : 'totp');
    if (kind === 'sms') throw new MfaMethodMismatch();
    if (!(await this.isCorrect(user, kind, code))) return this.refuse(user, membership, kind);
    if (!(await this.pendingLogins.consume(tempToken))) throw new MfaSessionInvalid();

    const login = await this.startSession(user, membership, kind, code);
    await this.limits.reset(this.config.limits.mfaVerify, user.id);
    return login;
  }

  private async startSession(
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
      return this.logins.start(tx, user, membership, { method: 'password', ...proven });
    });
    return this.logins.finish(started);
  }

  /** A recovery code is checked here and used in the transaction of the session. */
  private isCorrect(user: User, kind: VerifyMethod, code: string): Promise<boolean> {
    return kind === 'totp'
      ? this.codes.verifyTotp(this.worker, user.id, code)
      : this.codes.verifyRecoveryCode(this.worker, user.id, code);
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
