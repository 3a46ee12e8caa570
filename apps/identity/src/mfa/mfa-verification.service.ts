import { Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { RateLimitedError } from '@rmm/service-kit';
import { selfCaller } from '../audit/actors.js';
import { sameMembership } from '../members/membership.types.js';
import { MembershipsService } from '../members/memberships.service.js';
import { LoginSessionsService, type FinishedLogin, type StartedLogin } from '../sessions/login-sessions.service.js';
import { RefusedAttemptsService } from '../sessions/refused-attempts.service.js';
import type { SessionUser } from '../sessions/sessions.service.js';
import { tenantIsActive, type MfaMethod, type User, type UserMembership } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import type { VerifyMethod } from './dto/verify-mfa.dto.js';
import { MfaCodesService } from './mfa-codes.service.js';
import { MfaStateRepository, type PendingLogin } from './mfa-state.repository.js';
import { MfaCodeInvalid, MfaMethodMismatch, MfaSessionInvalid } from './mfa.errors.js';
import { normalizeRecoveryCode } from './recovery-codes.js';

const REFUSED_LOGIN = { action: 'user.login.failed', route: 'POST /api/v1/auth/mfa/verify' } as const;

/** A login whose password was correct, with its user as it is now. */
export interface ResumedLogin {
  tempToken: string;
  pending: PendingLogin;
  user: User;
}

/** The factor that completes a login. */
export interface ProvenFactor {
  /** Absent for a recovery code: the session then has the primary method of the account. */
  factor?: MfaMethod;
  /** Uses the factor up, in the transaction of the session. @throws when it was used meanwhile */
  use?: (tx: WorkerTransaction, owner: SessionUser) => Promise<void>;
}

/** The second step of a login. */
@Injectable()
export class MfaVerificationService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly state: MfaStateRepository,
    private readonly codes: MfaCodesService,
    private readonly logins: LoginSessionsService,
    private readonly memberships: MembershipsService,
    private readonly audit: AuditTrail,
    private readonly refusals: RefusedAttemptsService,
  ) {}

  /**
   * Exchanges a temporary token and a code for a session with `mfa: true`.
   * @throws MfaSessionInvalid 401; MfaCodeInvalid, MfaMethodMismatch 400; RateLimitedError per user, not per token
   */
  async verify(tempToken: string, code: string, method?: VerifyMethod): Promise<FinishedLogin> {
    const login = await this.resume(tempToken, (userId) => this.codes.countAttempt(userId));
    const { user } = login;
    const kind = method ?? methodOf(user, code);
    await this.assertEnrolled(user, kind);
    if (!(await this.isCorrect(login, kind, code))) return this.refuse(login, kind);
    return this.complete(login, {
      factor: kind === 'recovery' ? undefined : kind,
      use: kind === 'recovery' ? (tx, owner) => this.useRecoveryCode(tx, owner, code) : undefined,
    });
  }

  /**
   * Sends a code to the number of the user whose active factor is SMS.
   * @throws MfaSessionInvalid 401; MfaMethodMismatch; SmsNotConfigured, RateLimitedError, UpstreamError
   */
  async sendSms(tempToken: string): Promise<void> {
    const { user, pending } = await this.resume(tempToken, () => Promise.resolve());
    await this.codes.sendSms({ purpose: 'login', tempToken }, user);
    await this.audit.recordDirect(callerOf(user, pending), 'auth.mfa.sms.sent', toResource(user));
  }

  /**
   * Returns the login of a temporary token, while its user is as it was when the password was proven.
   * @param countAttempt  counts the attempt of the user before anything is revealed
   * @throws MfaSessionInvalid 401, RateLimitedError
   */
  async resume(tempToken: string, countAttempt: (userId: string) => Promise<void>): Promise<ResumedLogin> {
    const pending = await this.state.findPendingLogin(tempToken);
    if (!pending) return this.refuseSession(null);
    await this.auditingLimit(pending.userId, countAttempt);
    const user = await this.users.findById(this.worker, pending.userId);
    if (user && isUnchanged(pending, user) && mayEnter(pending, user)) return { tempToken, pending, user };
    await this.state.consumePendingLogin(tempToken);
    return this.refuseSession(user);
  }

  /**
   * Creates the session; of concurrent calls with a temporary token one succeeds. The token stays valid when no session
   * was created, as for a recovery code that another login has just used.
   * @throws MfaSessionInvalid 401; MfaCodeInvalid 400
   */
  async complete({ tempToken, pending, user }: ResumedLogin, proven: ProvenFactor): Promise<FinishedLogin> {
    const secondsLeft = await this.state.consumePendingLogin(tempToken);
    if (secondsLeft === null) return this.refuseSession(user);
    const started = await this.startSession(pending, proven).catch(async (error: unknown) => {
      await this.state.restorePendingLogin(tempToken, pending, secondsLeft).catch(() => undefined);
      throw error;
    });
    const login = await this.logins.finish(started);
    await this.codes.clearAttempts(user.id);
    return login;
  }

  private startSession(pending: PendingLogin, { factor, use }: ProvenFactor): Promise<StartedLogin> {
    return this.worker.transaction(async (tx) => {
      const owner = await this.enterMembership(tx, pending);
      await use?.(tx, owner);
      const { sso } = pending;
      const begun = sso ? ({ method: 'sso', sso } as const) : ({ method: 'password', passwordProven: true } as const);
      return this.logins.start(tx, owner.user, owner.membership, { ...begun, mfa: true, factor, factorProven: true });
    });
  }

  /** Records the audit entry of a wrong code. @throws MfaCodeInvalid */
  async refuse({ user, pending }: ResumedLogin, method: VerifyMethod | 'passkey'): Promise<never> {
    await this.logins.recordFailure(callerOf(user, pending), toResource(user), { reason: 'mfa_code', method }, 'mfa');
    throw new MfaCodeInvalid();
  }

  /** Returns the membership that the password was proven for, or makes the user a member of the one it is invited to. */
  private async enterMembership(tx: WorkerTransaction, pending: PendingLogin): Promise<SessionUser> {
    const { userId, invitation } = pending;
    if (invitation !== null) return this.memberships.accept(tx, Buffer.from(invitation, 'hex'), userId);
    const user = await this.users.findById(tx, userId);
    const membership = user && findMembership(pending, user);
    if (!user || !membership) throw new MfaSessionInvalid();
    return { user, membership };
  }

  private async useRecoveryCode(tx: WorkerTransaction, { user, membership }: SessionUser, code: string): Promise<void> {
    if (!(await this.codes.useRecoveryCode(tx, user.id, code))) throw new MfaCodeInvalid();
    await this.audit.record(tx, selfCaller(user, membership), 'auth.mfa.recovery_code.used', toResource(user));
  }

  /** @throws MfaMethodMismatch when the account has no such factor; recovery codes come with every factor */
  private async assertEnrolled(user: User, kind: VerifyMethod): Promise<void> {
    if (kind === 'recovery' || kind === user.mfaMethod) return;
    if (kind === 'sms' || !(await this.codes.hasTotp(this.worker, user.id))) throw new MfaMethodMismatch();
  }

  /** A recovery code is checked here and used in the transaction of the session. */
  private isCorrect({ user, tempToken }: ResumedLogin, kind: VerifyMethod, code: string): Promise<boolean> {
    if (kind === 'totp') return this.codes.verifyTotp(this.worker, user.id, code);
    if (kind === 'sms') return this.codes.verifySms({ purpose: 'login', tempToken }, user, code);
    return this.codes.verifyRecoveryCode(this.worker, user.id, code);
  }

  /** @throws RateLimitedError, after an audit entry */
  private async auditingLimit(userId: string, countAttempt: (userId: string) => Promise<void>): Promise<void> {
    try {
      await countAttempt(userId);
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
}

/** Returns the method of a code that the client does not name; SMS and authenticator apps have the same shape. */
function methodOf({ mfaMethod }: User, code: string): VerifyMethod {
  if (normalizeRecoveryCode(code)) return 'recovery';
  return mfaMethod === 'sms' ? 'sms' : 'totp';
}

/** The tenant of an invitation learns nothing before it is accepted. */
const callerOf = (user: User, pending: PendingLogin) =>
  selfCaller(user, pending.invitation === null ? pending : (user.memberships[0] ?? null));

const toResource = ({ id, name }: User) => ({ type: 'user', id, name });

/** Returns true when the user is still as it was when the password was proven. */
const isUnchanged = (pending: PendingLogin, user: User): boolean =>
  user.status === 'active' &&
  user.mfaEnabled &&
  user.mfaMethod === pending.method &&
  user.authEpoch === pending.authEpoch &&
  user.mfaEpoch === pending.mfaEpoch;

/** Single sign-on that was enforced after the first step ends the login, unless a provider was the first step. */
const findMembership = (pending: PendingLogin, user: User): UserMembership | undefined =>
  user.memberships.find(
    (membership) =>
      sameMembership(membership, pending) &&
      tenantIsActive(membership) &&
      (!membership.ssoEnforced || pending.sso !== undefined),
  );

const mayEnter = (pending: PendingLogin, user: User): boolean =>
  pending.invitation !== null || findMembership(pending, user) !== undefined;
