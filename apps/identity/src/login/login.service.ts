import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { cidrsContain, currentContext, parseCidr, RateLimits } from '@rmm/service-kit';
import { selfCaller, stranger } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { PendingLogins } from '../mfa/pending-logins.js';
import { ResetLinks } from '../passwords/reset-links.js';
import { PeopleRepository } from '../users/people.repository.js';
import { tenantIsActive, type LiveMembership, type Person } from '../users/person.js';
import { AccountLockout } from './account-lockout.js';
import { withLatencyFloor } from './latency-floor.js';
import type { MfaChallengeDto } from './login-body.dto.js';
import { IpNotAllowed, LoginFailed, type LoginRefusal } from './login.errors.js';
import { PasswordHasher } from './password-hasher.js';
import { SessionStarter, type FinishedLogin } from './session-starter.js';

export type LoginAnswer = FinishedLogin | { body: MfaChallengeDto; session: null };

/** Password login, in the order of CONTRACT 4.7. */
@Injectable()
export class LoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly people: PeopleRepository,
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
    const person = await this.people.findByEmail(this.worker, email);
    const refusal = await this.judgePassword(person, password);
    if (!person || refusal) return this.refuse(email, person, refusal ?? 'unknown_address');
    if (person.status !== 'active') return this.refuse(email, person, 'user_not_active');
    if (person.memberships.length === 0) return this.refuse(email, person, 'no_membership');
    const membership = person.memberships.find(tenantIsActive);
    if (!membership) return this.refuse(email, person, 'tenant_not_active');
    await this.assertAddressAllowed(person, membership);
    return this.config.mfa.enabled && person.mfaEnabled
      ? this.challenge(person)
      : this.openSession(person, membership, password);
  }

  /** Costs a hash whatever the answer. @returns null when the password is right */
  private async judgePassword(person: Person | null, password: string): Promise<LoginRefusal | null> {
    const locked = person !== null && (await this.lockout.isLocked(person.id));
    const hash = locked ? null : person?.passwordHash;
    if (!person || !hash) {
      await this.hasher.verifyDecoy(password);
      if (!person) return 'unknown_address';
      return locked ? 'locked' : 'no_password';
    }
    if (await this.hasher.verify(hash, password)) {
      await this.lockout.clear(person.id);
      return null;
    }
    if (await this.lockout.countFailure(person.id)) await this.tellOfLock(person);
    return 'wrong_password';
  }

  private async openSession(person: Person, membership: LiveMembership, password: string): Promise<LoginAnswer> {
    const oldHash = person.passwordHash ?? '';
    const newHash = this.hasher.needsRehash(oldHash) ? await this.hasher.hash(password) : null;
    const started = await this.worker.transaction(async (tx) => {
      if (newHash) {
        const sql = 'update user_account set password_hash = $2 where id = $1 and password_hash = $3';
        await tx.query(sql, [person.id, newHash, oldHash]);
      }
      return this.starter.start(tx, person, membership, { method: 'password', mfa: false, passwordProven: true });
    });
    return this.starter.finish(started);
  }

  private async challenge(person: Person): Promise<LoginAnswer> {
    const tempToken = await this.pendingLogins.start(person);
    return {
      session: null,
      body: {
        mfaRequired: true,
        tempToken,
        mfaMethod: person.mfaMethod ?? 'totp',
        passkeyAvailable: false,
        phoneLast4: person.phoneVerified ? (person.phoneNumber?.slice(-4) ?? null) : null,
        user: null,
        tokens: null,
      },
    };
  }

  private async assertAddressAllowed(person: Person, membership: LiveMembership): Promise<void> {
    const list = membership.partnerSecurity?.ipAllowlist ?? [];
    if (membership.scope === 'system' || list.length === 0) return;
    const address = currentContext()?.ipAddress;
    const ranges = list.map(parseCidr).filter((range) => range !== null);
    if (address !== undefined && cidrsContain(ranges, address)) return;
    await this.audit.recordDirect(
      selfCaller(person, membership),
      'ip_allowlist.denied',
      { type: 'user', id: person.id },
      { during: 'login' },
      'denied',
    );
    throw new IpNotAllowed();
  }

  private async refuse(email: string, person: Person | null, reason: LoginRefusal): Promise<never> {
    const membership = person?.memberships[0] ?? null;
    const caller = person ? selfCaller(person, membership) : stranger(email);
    await this.audit.recordDirect(
      caller,
      'user.login.failed',
      { type: 'user', id: person?.id ?? null, name: person?.name ?? null },
      { reason, method: 'password' },
      'failure',
    );
    throw new LoginFailed();
  }

  private async tellOfLock(person: Person): Promise<void> {
    const membership = person.memberships[0] ?? null;
    await this.worker.transaction(async (tx) => {
      await this.audit.record(
        tx,
        selfCaller(person, membership),
        'auth.login.account_locked',
        { type: 'user', id: person.id, name: person.name },
        { windowSeconds: this.config.lockout.windowSeconds },
        'denied',
      );
      const link = await this.resetLinks.issue(tx, person);
      const values = { name: person.name, url: link ?? `${this.config.publicAppUrl}/forgot-password` };
      await this.mail.add(tx, { to: person.email, template: 'account-locked', values });
    });
  }
}
