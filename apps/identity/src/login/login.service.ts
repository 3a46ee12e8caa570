import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { currentContext, RateLimits } from '@rmm/service-kit';
import { cidrsContain, parseCidr } from '@rmm/validation';
import { selfCaller, unknownCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MfaLoginService } from '../mfa/mfa-login.service.js';
import { PasswordVerificationService } from '../passwords/password-verification.service.js';
import { LoginSessionsService, type FinishedLogin } from '../sessions/login-sessions.service.js';
import { tenantIsActive, type User, type UserMembership } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import type { MfaChallengeDto } from './dto/mfa-challenge.dto.js';
import { withLatencyFloor } from './latency-floor.js';
import { IpNotAllowed, LoginFailed, type LoginRefusal } from './login.errors.js';

export type LoginResult = FinishedLogin | { body: MfaChallengeDto; session: null };

/** Login with e-mail address and password. @see docs/reference/authentication.md */
@Injectable()
export class LoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly passwords: PasswordVerificationService,
    private readonly mfaLogins: MfaLoginService,
    private readonly logins: LoginSessionsService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Creates a session, or a challenge for the second factor.
   * @param client  key of the rate limits
   * @throws LoginFailed  401, the same bytes for every reason, no sooner than the latency floor
   * @throws IpNotAllowed, RateLimitedError, UnavailableError
   */
  async login(email: string, password: string, client: string): Promise<LoginResult> {
    await this.limits.hit(this.config.limits.loginWide, client);
    await this.limits.hit(this.config.limits.loginNarrow, `${client}|${email}`);
    return withLatencyFloor(() => this.authenticate(email, password));
  }

  private async authenticate(email: string, password: string): Promise<LoginResult> {
    const user = await this.users.findByEmail(this.worker, email);
    const refusal = await this.passwords.verifyLogin(user, password);
    if (!user || refusal) return this.refuse(email, user, refusal ?? 'unknown_address');
    if (user.status !== 'active') return this.refuse(email, user, 'user_not_active');
    if (user.memberships.length === 0) return this.refuse(email, user, 'no_membership');
    const membership = user.memberships.find(tenantIsActive);
    if (!membership) return this.refuse(email, user, 'tenant_not_active');
    await this.assertAddressAllowed(user, membership);
    return this.config.mfa.enabled && user.mfaEnabled
      ? this.challenge(user)
      : this.startSession(user, membership, password);
  }

  private async startSession(user: User, membership: UserMembership, password: string): Promise<LoginResult> {
    const rehash = await this.passwords.rehash(user, password);
    const started = await this.worker.transaction(async (tx) => {
      if (rehash) await this.passwords.storeRehash(tx, user, rehash);
      return this.logins.start(tx, user, membership, { method: 'password', mfa: false, passwordProven: true });
    });
    return this.logins.finish(started);
  }

  private async challenge(user: User): Promise<LoginResult> {
    const tempToken = await this.mfaLogins.start(user);
    return {
      session: null,
      body: {
        mfaRequired: true,
        tempToken,
        mfaMethod: user.mfaMethod ?? 'totp',
        passkeyAvailable: false,
        phoneLast4: user.phoneVerified ? (user.phoneNumber?.slice(-4) ?? null) : null,
        user: null,
        tokens: null,
      },
    };
  }

  private async assertAddressAllowed(user: User, membership: UserMembership): Promise<void> {
    const list = membership.partnerSecurity?.ipAllowlist ?? [];
    if (membership.scope === 'system' || list.length === 0) return;
    const address = currentContext()?.ipAddress;
    const ranges = list.map(parseCidr).filter((range) => range !== null);
    if (address !== undefined && cidrsContain(ranges, address)) return;
    await this.audit.recordDirect(
      selfCaller(user, membership),
      'ip_allowlist.denied',
      { type: 'user', id: user.id },
      { during: 'login' },
      'denied',
    );
    throw new IpNotAllowed();
  }

  private async refuse(email: string, user: User | null, reason: LoginRefusal): Promise<never> {
    const caller = user ? selfCaller(user, user.memberships[0] ?? null) : unknownCaller(email);
    await this.audit.recordDirect(
      caller,
      'user.login.failed',
      { type: 'user', id: user?.id ?? null, name: user?.name ?? null },
      { reason, method: 'password' },
      'failure',
    );
    throw new LoginFailed();
  }
}
