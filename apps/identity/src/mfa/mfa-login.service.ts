import { Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimitedError } from '@rmm/service-kit';
import { selfCaller } from '../audit/actors.js';
import { LoginSessionsService, type FinishedLogin } from '../sessions/login-sessions.service.js';
import { RefusedAttemptsService } from '../sessions/refused-attempts.service.js';
import { tenantIsActive, type User, type UserMembership } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import type { VerifyMethod } from './dto/verify-mfa.dto.js';
import { MfaCodesService } from './mfa-codes.service.js';
import { MfaStateRepository, type PendingLogin } from './mfa-state.repository.js';
import { MfaCodeInvalid, MfaMethodMismatch, MfaSessionInvalid } from './mfa.errors.js';
import { normalizeRecoveryCode } from './recovery-codes.js';

const REFUSED_LOGIN = { action: 'user.login.failed', route: 'POST /api/v1/auth/mfa/verify' } as const;

/** The second step of a login. */
@Injectable()
export class MfaLoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly state: MfaStateRepository,
    private readonly codes: MfaCodesService,
    private readonly logins: LoginSessionsService,
    private readonly audit: AuditTrail,
    private readonly refusals: RefusedAttemptsService,
  ) {}

  /** Starts the second step for a user whose password was correct. @returns the temporary token, valid for 300 seconds */
  start({ id, mfaMethod, authEpoch, mfaEpoch }: User): Promise<string> {
    return this.state.createPendingLogin({ userId: id, method: mfaMethod, authEpoch, mfaEpoch });
  }

  /**
   * Exchanges a temporary token and a code for a session with `mfa: true`.
   * @throws MfaSessionInvalid 401; MfaCodeInvalid, MfaMethodMismatch 400; RateLimitedError per user, not per token
   */
  async verify(tempToken: string, code: string, method?: VerifyMethod): Promise<FinishedLogin> {
    const pending = await this.state.findPendingLogin(tempToken);
    if (!pending) return this.refuseSession(null);
    await this.countAttempt(pending.userId);
    const user = await this.users.findById(this.worker, pending.userId);
    const membership = user?.memberships.find(tenantIsActive);
    if (!user || !membership || !isUnchanged(pending, user)) {
      await this.state.consumePendingLogin(tempToken);
      return this.refuseSession(user);
    }
    const kind = method ?? (normalizeRecoveryCode(code) ? 'recovery' : 'totp');
    if (kind === 'sms') throw new MfaMethodMismatch();
    if (!(await this.isCorrect(user, kind, code))) return this.refuse(user, membership, kind);
    if (!(await this.state.consumePendingLogin(tempToken))) return this.refuseSession(user);

    const login = await this.startSession(user, membership, kind, code);
    await this.codes.clearAttempts(user.id);
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

  /** @throws RateLimitedError, after an audit entry */
  private async countAttempt(userId: string): Promise<void> {
    try {
      await this.codes.countAttempt(userId);
    } catch (error) {
      if (error instanceof RateLimitedError) {
        const user = await this.users.findById(this.worker, userId);
        this.refusals.recordForUser(user, { ...REFUSED_LOGIN, code: error.code });
      }
      throw error;
    }
  }

  /** @param user  null when the temporary token is unknown */
  private refuseSession(user: User | null): never {
    const refusal = new MfaSessionInvalid();
    this.refusals.recordForUser(user, { ...REFUSED_LOGIN, code: refusal.code });
    throw refusal;
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

/** Returns true when the user is still as it was when the password was proven. */
const isUnchanged = (pending: PendingLogin, user: User): boolean =>
  user.status === 'active' &&
  user.mfaEnabled &&
  user.mfaMethod === pending.method &&
  user.authEpoch === pending.authEpoch &&
  user.mfaEpoch === pending.mfaEpoch;
