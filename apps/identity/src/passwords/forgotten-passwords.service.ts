import { Inject, Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimitedError, RateLimits, type RateLimit } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailService } from '../mail/mail.service.js';
import { UsersRepository } from '../users/users.repository.js';
import { ForgotPasswordQueue } from './forgot-password-queue.service.js';
import { canReset, ResetLinks } from './reset-links.service.js';

/** Handles forgotten passwords: takes requests in public, mails links in the background. */
@Injectable()
export class ForgottenPasswordsService {
  constructor(
    private readonly queue: ForgotPasswordQueue,
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly links: ResetLinks,
    private readonly mail: MailService,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Queues a request without reading accounts. A request over the limit is dropped silently.
   * @param client  key of the rate limit
   * @throws UnavailableError when Redis is down
   */
  async request(email: string, client: string): Promise<void> {
    if (await this.isWithin(this.config.limits.forgotPassword, client)) await this.queue.add(email);
  }

  /** Mails a link to a user who may have one; limited per account, so that many clients cannot flood a mailbox. */
  async sendLink(email: string): Promise<void> {
    const user = await this.users.findByEmail(this.worker, email);
    if (!user || !canReset(user)) return;
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
