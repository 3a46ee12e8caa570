import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { RateLimitedError } from '@rmm/service-kit';
import { selfCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { MfaChallengeDto } from '../login/dto/mfa-challenge.dto.js';
import { sameMembership, type MembershipKey } from '../members/membership.js';
import { MembershipsService } from '../members/memberships.service.js';
import { LoginSessionsService, type FinishedLogin } from '../sessions/login-sessions.service.js';
import { RefusedAttemptsService } from '../sessions/refused-attempts.service.js';
import type { SessionUser } from '../sessions/sessions.service.js';
import { tenantIsActive, type User, type UserMembership } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import type { VerifyMethod } from './dto/verify-mfa.dto.js';
import { MfaCodesService } from './mfa-codes.service.js';
import { MfaStateRepository, type PendingLogin } from './mfa-state.repository.js';
import { MfaCodeInvalid, MfaMethodMismatch, MfaSessionInvalid } from './mfa.errors.js';
import { normalizeRecoveryCode } from './recovery-codes.js';

const REFUSED_LOGIN = { action: 'user.login.failed', route: 'POST /api/v1/auth/mfa/verify' } as const;
/** A completed login, or the request for the second factor. */
export type LoginResult = FinishedLogin | { body: MfaChallengeDto; session: null };

/** The second step of a login. */
@Injectable()
export class MfaLoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly state: MfaStateRepository,
    private readonly codes: MfaCodesService,
    private readonly logins: LoginSessionsService,
    private readonly memberships: MembershipsService,
    private readonly audit: AuditTrail,
    private readonly refusals: RefusedAttemptsService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Returns true when a password alone does not sign the user in. */
  isRequired({ mfaEnabled }: User): boolean {
    return this.config.mfa.enabled && mfaEnabled;
  }

  /**
   * Starts the second step for a user whose password was correct; the temporary token is valid for 300 seconds.
   * @param membership  the one that the session enters
   * @param invitation  hash of the link by which the user becomes a member with the correct code
   */
  async challenge(user: User, membership: MembershipKey, invitation?: Buffer): Promise<LoginResult> {
    const { id: userId, mfaMethod: method, authEpoch, mfaEpoch } = user;
    const { scope, partnerId, orgId } = membership;
    const tempToken = await this.state.createPendingLogin({
      ...{ userId, method, authEpoch, mfaEpoch, scope, partnerId, orgId },
      invitation: invitation?.toString('hex') ?? null,
    });
    return {
      session: null,
      body: {
        mfaRequired: true,
        tempToken,
        mfaMethod: method ?? 'totp',
        passkeyAvailable: false,
        phoneLast4: user.phoneVerified ? (user.phoneNumber?.slice(-4) ?? null) : null,
        user: null,
        tokens: null,
      },
    };
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
    if (!user || !isUnchanged(pending, user) || !mayEnter(pending, user)) {
      await this.state.consumePendingLogin(tempToken);
      return this.refuseSession(user);
    }
    const kind = method ?? (normalizeRecoveryCode(code) ? 'recovery' : 'totp');
    if (kind === 'sms') throw new MfaMethodMismatch();
    if (!(await this.isCorrect(user, kind, code))) return this.refuse(user, pending, kind);
    if (!(await this.state.consumePendingLogin(tempToken))) return this.refuseSession(user);

    const login = await this.startSession(pending, kind, code);
    await this.codes.clearAttempts(user.id);
    return login;
  }

  private async startSession(pending: PendingLogin, kind: VerifyMethod, code: string): Promise<FinishedLogin> {
    const started = await this.worker.transaction(async (tx) => {
      const { user, membership } = await this.enterMembership(tx, pending);
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

  /** Returns the membership that the password was proven for, or makes the user a member of the one it is invited to. */
  private async enterMembership(tx: WorkerTransaction, pending: PendingLogin): Promise<SessionUser> {
    const { userId, invitation } = pending;
    if (invitation !== null) return this.memberships.accept(tx, Buffer.from(invitation, 'hex'), userId);
    const user = await this.users.findById(tx, userId);
    const membership = user && findMembership(pending, user);
    if (!user || !membership) throw new MfaSessionInvalid();
    return { user, membership };
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

  private async refuse(user: User, pending: PendingLogin, method: VerifyMethod): Promise<never> {
    await this.audit.recordDirect(
      // The tenant of an invitation learns nothing before it is accepted.
      selfCaller(user, pending.invitation === null ? pending : (user.memberships[0] ?? null)),
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

const findMembership = (pending: PendingLogin, user: User): UserMembership | undefined =>
  user.memberships.find((membership) => sameMembership(membership, pending) && tenantIsActive(membership));

const mayEnter = (pending: PendingLogin, user: User): boolean =>
  pending.invitation !== null || findMembership(pending, user) !== undefined;
