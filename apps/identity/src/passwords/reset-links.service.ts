import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { hashKey, mintLinkToken } from '@rmm/secrets';
import { selfCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailService } from '../mail/mail.service.js';
import { tenantIsActive, type User } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import { PasswordsRepository } from './passwords.repository.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;

/** Mails and accepts links that set a new password, under the worker login. @see docs/reference/authentication.md */
@Injectable()
export class ResetLinksService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: PasswordsRepository,
    private readonly users: UsersRepository,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Returns true when the user could sign in with a password. An account without one signs in by other means: access to
   * the mailbox alone must not add a second way.
   */
  canReset({ status, passwordHash, memberships }: User): boolean {
    return status === 'active' && passwordHash !== null && memberships.some(tenantIsActive);
  }

  /** Mails a link to a user who forgot the password. */
  async send(user: User): Promise<void> {
    await this.worker.transaction(async (tx) => {
      const url = await this.issue(tx, user);
      if (!url) return;
      await this.mail.add(tx, { to: user.email, template: 'password-reset', values: { name: user.name, url } });
    });
  }

  /** Records that wrong passwords locked an account, and mails its user a link. */
  async sendLockNotice(user: User): Promise<void> {
    await this.worker.transaction(async (tx) => {
      const resource = { type: 'user', id: user.id, name: user.name };
      const { windowSeconds } = this.config.lockout;
      const caller = selfCaller(user, user.memberships[0] ?? null);
      await this.audit.record(tx, caller, 'auth.login.account_locked', resource, { windowSeconds }, 'denied');
      const link = await this.issue(tx, user);
      const values = { name: user.name, url: link ?? `${this.config.publicAppUrl}/forgot-password` };
      await this.mail.add(tx, { to: user.email, template: 'account-locked', values });
    });
  }

  /** Returns the user of a valid link, without using it. */
  async findUser(token: string): Promise<User | null> {
    if (!LINK_TOKEN.test(token)) return null;
    return this.findById(this.worker, await this.repository.findLinkUserId(this.worker, hashKey(token)));
  }

  /** Uses a link: returns its user to exactly one of concurrent callers, null when the link is invalid by now. */
  async use(tx: SqlExecutor, token: string): Promise<User | null> {
    return this.findById(tx, await this.repository.useLink(tx, hashKey(token)));
  }

  /**
   * Issues a link and invalidates older ones of the user.
   * @returns the URL to mail, based on PUBLIC_APP_URL alone; null for a user who could not sign in with a password
   */
  private async issue(tx: SqlExecutor, user: User): Promise<string | null> {
    if (!this.canReset(user)) return null;
    const { key, keyHash } = mintLinkToken();
    const stored = await this.repository.replaceLink(tx, user.id, user.email, keyHash);
    return stored ? `${this.config.publicAppUrl}/reset-password?token=${key}` : null;
  }

  private async findById(db: SqlExecutor, userId: string | null): Promise<User | null> {
    const user = userId === null ? null : await this.users.findById(db, userId);
    return user && this.canReset(user) ? user : null;
  }
}
