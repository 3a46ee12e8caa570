import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { selfCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailService } from '../mail/mail.service.js';
import { AccountLockout } from '../passwords/account-lockout.service.js';
import { PasswordHasher } from '../passwords/password-hasher.service.js';
import { PasswordsRepository } from '../passwords/passwords.repository.js';
import { ResetLinks } from '../passwords/reset-links.service.js';
import type { User } from '../users/user.js';
import type { LoginRefusal } from './login.errors.js';

/** A hash with the configured cost parameters, and the one it replaces. */
export interface Rehash {
  oldHash: string;
  newHash: string;
}

/** Verifies passwords at login, counts failures, and locks accounts. @see docs/reference/authentication.md */
@Injectable()
export class PasswordVerification {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly hasher: PasswordHasher,
    private readonly lockout: AccountLockout,
    private readonly repository: PasswordsRepository,
    private readonly resetLinks: ResetLinks,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Verifies a password; takes the time of a hash in every case, so that it does not reveal whether the account exists.
   * @returns null when the password is correct
   */
  async verify(user: User | null, password: string): Promise<LoginRefusal | null> {
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
    if (await this.lockout.countFailure(user.id)) await this.notifyLocked(user);
    return 'wrong_password';
  }

  /** Hashes a correct password again when the cost parameters were raised; null when they were not. */
  async rehash(user: User, password: string): Promise<Rehash | null> {
    const oldHash = user.passwordHash ?? '';
    return this.hasher.needsRehash(oldHash) ? { oldHash, newHash: await this.hasher.hash(password) } : null;
  }

  /** Stores a rehash, in the transaction of the login. */
  storeRehash(tx: SqlExecutor, user: User, { oldHash, newHash }: Rehash): Promise<void> {
    return this.repository.rehash(tx, user.id, newHash, oldHash);
  }

  private async notifyLocked(user: User): Promise<void> {
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
