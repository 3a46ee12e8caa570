import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { Logger, RateLimits } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { selfCaller, stranger } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { AccountLockout } from './account-lockout.js';
import { PasswordHasher } from './password-hasher.js';
import { assertStrongPassword } from './password-rules.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { SessionsRepository } from '../sessions/sessions.repository.js';
import { UsersRepository } from '../users/users.repository.js';
import type { User } from '../users/user.js';
import { ResetTokenInvalid } from './passwords.errors.js';
import { ResetLinksRepository } from './reset-links.repository.js';
import { mayReset } from './reset-links.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;

/** Choosing a new password by a mailed link. It signs nobody in: the factor is still asked for. @see CONTRACT.md 4.7 */
@Injectable()
export class PasswordResetService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly links: ResetLinksRepository,
    private readonly users: UsersRepository,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionsRepository,
    private readonly accessChanges: AccessChangesService,
    private readonly audit: AuditTrail,
    private readonly mail: MailOutbox,
    private readonly lockout: AccountLockout,
    private readonly limits: RateLimits,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Uses the link up, replaces the password and ends every session, in one transaction. A password that is refused
   * leaves the link alone.
   * @throws WeakPassword, ResetTokenInvalid, RateLimitedError
   */
  async reset(token: string, password: string, client: string): Promise<void> {
    await this.limits.hit(this.config.limits.resetPassword, client);
    const tokenHash = hashKey(token);
    const owner = LINK_TOKEN.test(token) ? await this.findOwner(tokenHash) : null;
    await assertStrongPassword(password, owner ?? { email: '' });
    if (!owner) return this.refuse(null);
    const passwordHash = await this.hasher.hash(password);
    if (!(await this.worker.transaction((tx) => this.replace(tx, tokenHash, passwordHash)))) return this.refuse(owner);
    await this.lockout.clear(owner.id).catch((err: unknown) => {
      this.logger.warn({ err }, 'A lock-out could not be lifted after a reset; it ends by itself');
    });
  }

  private async findOwner(tokenHash: Buffer): Promise<User | null> {
    const userId = await this.links.findOwner(this.worker, tokenHash);
    const user = userId === null ? null : await this.users.findById(this.worker, userId);
    return user && mayReset(user) ? user : null;
  }

  /** False when the link was not good any more. */
  private async replace(tx: WorkerTransaction, tokenHash: Buffer, passwordHash: string): Promise<boolean> {
    const userId = await this.links.use(tx, tokenHash);
    const user = userId === null ? null : await this.users.findById(tx, userId);
    if (!user || !mayReset(user)) return false;
    const { id, name, email } = user;
    await tx.query(
      `update user_account
       set password_hash = $2, password_changed_at = now(), auth_epoch = auth_epoch + 1, reset_epoch = reset_epoch + 1,
         setup_completed_at = case when requires_setup then now() else setup_completed_at end, requires_setup = false,
         updated_at = now()
       where id = $1`,
      [id, passwordHash],
    );
    await this.sessions.revokeAll(tx, id, 'password_reset');
    await this.accessChanges.publish(tx, { userIds: [id], reason: 'password_reset' });
    const caller = selfCaller(user, user.memberships[0] ?? null);
    await this.audit.record(tx, caller, 'user.password.reset', { type: 'user', id, name });
    await this.mail.add(tx, { to: email, template: 'password-changed', values: { name } });
    return true;
  }

  /** @param user  whose link it was a moment ago, or null when nobody knows */
  private async refuse(user: User | null): Promise<never> {
    const caller = user ? selfCaller(user, user.memberships[0] ?? null) : stranger();
    const resource = { type: 'user', id: user?.id ?? null, name: user?.name ?? null };
    await this.audit.recordDirect(caller, 'user.password.reset', resource, { reason: 'token_invalid' }, 'failure');
    throw new ResetTokenInvalid();
  }
}
