import { Inject, Injectable } from '@nestjs/common';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { ValidationError } from '@rmm/service-kit';
import { selfCaller, unknownCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { withLatencyFloor } from '../login/latency-floor.js';
import type { LoginRefusal } from '../login/login.errors.js';
import { LoginSessionsService, type FinishedLogin } from '../sessions/login-sessions.service.js';
import { findMembershipToEnter, type NamedMembership, type User, type UserMembership } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import { PasskeyAssertionsService, type AssertionRefusal } from './passkey-assertions.service.js';
import { PasskeyLoginFailed } from './passkey.errors.js';
import type { PasskeyUse } from './passkeys.repository.js';

type Refusal = AssertionRefusal | LoginRefusal | 'counter';

/**
 * Signs in with a passkey alone. The authenticator verifies its user, so that the session has verified a second factor.
 * @see docs/reference/authentication.md
 */
@Injectable()
export class PasskeyLoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly assertions: PasskeyAssertionsService,
    private readonly logins: LoginSessionsService,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Creates a challenge; the same for everyone. @param client  key of the rate limit @throws RateLimitedError */
  async start(client: string): Promise<PublicKeyCredentialRequestOptionsJSON> {
    await this.limits.hit(this.config.limits.passkeyLogin, `options|${client}`);
    return this.assertions.startSignIn();
  }

  /**
   * Creates a session of the passkey's user.
   * @param named  the membership to enter
   * @param client  key of the rate limit
   * @throws PasskeyLoginFailed  401, the same bytes for every reason, no sooner than the latency floor
   * @throws IpNotAllowed, RateLimitedError, UnavailableError
   */
  async finish(credential: Record<string, unknown>, named: NamedMembership, client: string): Promise<FinishedLogin> {
    if (named.orgId !== undefined && named.partnerId !== undefined) {
      throw ValidationError.forField('orgId', 'name one membership');
    }
    await this.limits.hit(this.config.limits.passkeyLogin, `verify|${client}`);
    return withLatencyFloor(() => this.authenticate(credential, named));
  }

  private async authenticate(credential: Record<string, unknown>, named: NamedMembership): Promise<FinishedLogin> {
    const assertion = await this.assertions.verifySignIn(this.worker, credential);
    if ('refusal' in assertion) {
      const user = assertion.userId === null ? null : await this.users.findById(this.worker, assertion.userId);
      return this.refuse(user, assertion.refusal);
    }
    const user = await this.users.findById(this.worker, assertion.passkey.userId);
    if (!user) return this.refuse(null, 'unknown_credential');
    if (user.status !== 'active') return this.refuse(user, 'user_not_active');
    if (user.memberships.length === 0) return this.refuse(user, 'no_membership');
    const membership = findMembershipToEnter(user.memberships, named);
    if (!membership) return this.refuse(user, 'tenant_not_active');
    await this.logins.assertAddressAllowed(user, membership);
    return this.startSession(user, membership, assertion.use);
  }

  private async startSession(user: User, membership: UserMembership, use: PasskeyUse): Promise<FinishedLogin> {
    const started = await this.worker.transaction(async (tx) => {
      if (!(await this.assertions.recordUse(tx, use))) return null;
      const proven = { mfa: true, factor: 'passkey', factorProven: true } as const;
      return this.logins.start(tx, user, membership, { method: 'passkey', ...proven });
    });
    // A counter that does not rise is that of a copied authenticator.
    return started ? this.logins.finish(started) : this.refuse(user, 'counter');
  }

  private async refuse(user: User | null, reason: Refusal): Promise<never> {
    const caller = user ? selfCaller(user, user.memberships[0] ?? null) : unknownCaller();
    const resource = { type: 'user', id: user?.id ?? null, name: user?.name ?? null };
    await this.logins.recordFailure(caller, resource, { reason, method: 'passkey' }, 'passkey');
    throw new PasskeyLoginFailed();
  }
}
