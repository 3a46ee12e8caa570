import { Inject, Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { ValidationError } from '@rmm/service-kit';
import { selfCaller, unknownCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { emailBucket } from '../limits.js';
import { MfaLoginService, type LoginResult } from '../mfa/mfa-login.service.js';
import { PasswordVerificationService } from '../passwords/password-verification.service.js';
import { LoginSessionsService } from '../sessions/login-sessions.service.js';
import { findMembershipToEnter, isSsoOnly, type User, type UserMembership } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import type { LoginDto } from './dto/login.dto.js';
import { withLatencyFloor } from './latency-floor.js';
import { LoginFailed, type LoginRefusal } from './login.errors.js';

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
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Creates a session, or a challenge for the second factor.
   * @param client  key of the rate limits
   * @throws LoginFailed  401, the same bytes for every reason, no sooner than the latency floor
   * @throws IpNotAllowed, RateLimitedError, UnavailableError
   */
  async login(dto: LoginDto, client: string): Promise<LoginResult> {
    const { email, orgId, partnerId } = dto;
    if (orgId !== undefined && partnerId !== undefined) throw ValidationError.forField('orgId', 'name one membership');
    await this.limits.hit(this.config.limits.loginWide, client);
    await this.limits.hit(this.config.limits.loginNarrow, `${client}|${emailBucket(email)}`);
    return withLatencyFloor(() => this.authenticate(dto));
  }

  private async authenticate({ email, password, ...named }: LoginDto): Promise<LoginResult> {
    const user = await this.users.findByEmail(this.worker, email);
    const refusal = await this.passwords.verifyLogin(user, password);
    if (!user || refusal) return this.refuse(email, user, refusal ?? 'unknown_address');
    if (user.status !== 'active') return this.refuse(email, user, 'user_not_active');
    if (user.memberships.length === 0) return this.refuse(email, user, 'no_membership');
    if (isSsoOnly(user)) return this.refuse(email, user, 'sso_enforced');
    const membership = findMembershipToEnter(user.memberships, named);
    if (!membership) return this.refuse(email, user, 'tenant_not_active');
    await this.logins.assertAddressAllowed(user, membership);
    return this.mfaLogins.isRequired(user)
      ? this.mfaLogins.challenge(user, membership)
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

  private async refuse(email: string, user: User | null, reason: LoginRefusal): Promise<never> {
    const caller = user ? selfCaller(user, user.memberships[0] ?? null) : unknownCaller(email);
    const resource = { type: 'user', id: user?.id ?? null, name: user?.name ?? null };
    await this.logins.recordFailure(caller, resource, { reason, method: 'password' }, 'password');
    throw new LoginFailed();
  }
}
