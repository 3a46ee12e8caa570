import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { cidrsContain, currentContext, parseCidr, RateLimits } from '@rmm/service-kit';
import { selfCaller, stranger } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { PendingLogins } from '../mfa/pending-logins.js';
import { ResetLinks } from '../passwords/reset-links.js';
import { UsersRepository } from '../users/users.repository.js';
import { tenantIsActive, type UserMembership, type User } from '../users/user.js';
import { AccountLockout } from '../passwords/account-lockout.js';
import { withLatencyFloor } from './latency-floor.js';
import type { MfaChallengeDto } from './login-body.dto.js';
import { IpNotAllowed, LoginFailed, type LoginRefusal } from './login.errors.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { SessionStarter, type FinishedLogin } from '../sessions/session-starter.js';

export type LoginAnswer = FinishedLogin | { body: MfaChallengeDto; session: null };

/** Password login, in the order of CONTRACT 4.7. */
@Injectable()
export class LoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly hasher: PasswordHasher,
    private readonly lockout: AccountLockout,
    private readonly pendingLogins: PendingLogins,
    private readonly starter: SessionStarter,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly mail: MailOutbox,
    private readonly resetLinks: ResetLinks,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * @param client  the bucket of the client's address
   * @throws LoginFailed  401, the same bytes for every reason, no sooner than the latency floor
   * @throws IpNotAllowed, RateLimitedError, UnavailableError
   */
  async login(email: string, password: string, client: string): Promise<LoginAnswer> {
    await this.limits.hit(this.config.limits.loginWide, client);
    await this.limits.hit(this.config.limits.loginNarrow, `${client}|${email}`);
    return withLatencyFloor(() => this.authenticate(email, password));
  }

  private async authenticate(email: string, password: string): Promise<LoginAnswer> {
    const user = await this.users.findByEmail(this.worker, email);
    const refusal = await this.judgePassword(user, password);
    if (!user || refusal) return this.refuse(email, user, refusal ?? 'unknown_address');
    if (user.status !== 'active') return this.refuse(email, user, 'user_not_active');
    if (user.memberships.length === 0) return this.refuse(email, user, 'no_membership');
    const membership = user.memberships.find(tenantIsActive);
    if (!membership) return this.refuse(email, user, 'tenant_not_active');
    await this.assertAddressAllowed(user, membership);
    return this.config.mfa.enabled && user.mfaEnabled
      ? this.challenge(user)
      : this.openSession(user, membership, password);
  }

  /** Costs a hash whatever the answer. @returns null when the password is right */
  private async judgePassword(user: User | null, password: string): Promise<LoginRefusal | null> {
    const locked = user !== null && (await this.lockout.isLocked(user.id));
    const hash = locked ? null : user?.passwordHash;
    if (!user || !hash) {
      await this.hasher.verifyDecoy(password);
      if (!user) return 'unknown_address';
      return locked ? 'locked' : 'no_password';
    }
    if (await this.hasher.verify(hash, password)) {
      await this.lockout.clear(user.id);
      return null;
    }
    if (await this.lockout.countFailure(user.id)) await this.tellOfLock(user);
    return 'wrong_password';
  }

  private async openSession(user: User, membership: UserMembership, password: string): Promise<LoginAnswer> {
    const oldHash = user.passwordHash ?? '';
    const newHash = this.hasher.needsRehash(oldHash) ? await this.hasher.hash(password) : null;
    const started = await this.worker.transaction(async (tx) => {
      if (newHash) {
        const sql = 'update user_account set password_hash = $2 where id = $1 and password_hash = $3';
        await tx.query(sql, [user.id, newHash, oldHash]);
      }
      return this.starter.start(tx, user, membership, { method: 'password', mfa: false, passwordProven: true });
    });
    return this.starter.finish(started);
  }

  private async challenge(user: User): Promise<LoginAnswer> {
    const tempToken = await this.pendingLogins.start(user);
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
    const membership = user?.memberships[0] ?? null;
    const caller = user ? selfCaller(user, membership) : stranger(email);
    await this.audit.recordDirect(
      caller,
      'user.login.failed',
      { type: 'user', id: user?.id ?? null, name: user?.name ?? null },
      { reason, method: 'password' },
      'failure',
    );
    throw new LoginFailed();
  }

  private async tellOfLock(user: User): Promise<void> {
    const membership = user.memberships[0] ?? null;
    await this.worker.transaction(async (tx) => {
      await this.audit.record(
        tx,
        selfCaller(user, membership),
        'auth.login.account_locked',
        { type: 'user', id: user.id, name: user.name },
        { windowSeconds: this.config.lockout.windowSeconds },
        'denied',
      );
      const link = await this.resetLinks.issue(tx, user);
      const values = { name: user.name, url: link ?? `${this.config.publicAppUrl}/forgot-password` };
      await this.mail.add(tx, { to: user.email, template: 'account-locked', values });
    });
  }
}
