import { Inject, Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimitedError, RateLimits, type RateLimit } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { UsersRepository } from '../users/users.repository.js';
import { ForgotPasswordQueue } from './forgot-password-queue.js';
import { mayReset, ResetLinks } from './reset-links.js';

/** Forgotten passwords: what is asked in public, and what is done about it out of sight. @see CONTRACT.md 4.7 */
@Injectable()
export class ForgottenPasswords {
  constructor(
    private readonly queue: ForgotPasswordQueue,
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly links: ResetLinks,
    private readonly mail: MailOutbox,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Takes a request, without a look at accounts. Over the limit it is dropped without a word.
   * @throws UnavailableError when Redis is away
   */
  async request(email: string, client: string): Promise<void> {
    if (await this.isWithin(this.config.limits.forgotPassword, client)) await this.queue.add(email);
  }

  /** Mails a link to somebody who may have one, a few times an hour at most: a mailbox is not flooded from many addresses. */
  async sendLink(email: string): Promise<void> {
    const user = await this.users.findByEmail(this.worker, email);
    if (!user || !mayReset(user)) return;
    if (!(await this.isWithin(this.config.limits.forgotPasswordAccount, user.id))) return;
    await this.worker.transaction(async (tx) => {
      const url = await this.links.issue(tx, user);
      if (!url) return;
      await this.mail.add(tx, { to: user.email, template: 'password-reset', values: { name: user.name, url } });
    });
  }

  private async isWithin(limit: RateLimit, key: string): Promise<boolean> {
    try {
      await this.limits.hit(limit, key);
      return true;
    } catch (error) {
      if (error instanceof RateLimitedError) return false;
      throw error;
    }
  }
}
