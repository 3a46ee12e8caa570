import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';
import { AuditTrail, jobContext, type JobContext } from '@rmm/messaging';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { KeyRing, mintLinkToken } from '@rmm/secrets';
import { RateLimitedError, UnavailableError } from '@rmm/service-kit';
import { selfCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailService } from '../mail/mail.service.js';
import type { User } from '../users/user.types.js';
import { canResetPassword } from './password-reset.policy.js';
import { PasswordsRepository } from './passwords.repository.js';

export const FORGOT_PASSWORD_QUEUE = 'identity-forgot-password';
/** The context that queued requests are sealed for. */
export const FORGOT_PASSWORD_CONTEXT = 'forgot-password.job';
const JOB = 'forgot';
const WAIT_MS = 2_000;
/** Retries for about two minutes, so that a short outage of a store loses no request; after that users request again. */
const RETRIES = { attempts: 8, backoff: { type: 'exponential', delay: 1_000 } };

/** The job as stored in Redis: the address is sealed. */
export interface ForgotPasswordJob {
  sealed: string;
}

/** The unsealed content of a job. */
export type ForgotPasswordRequest = JobContext & { email: string };

/**
 * Takes requests for links that set a new password, and mails them. A request is public, so ForgotPasswordProcessor
 * handles it in the background: the response time does not depend on the account.
 * @see docs/reference/authentication.md
 */
@Injectable()
export class ResetLinksService {
  constructor(
    @InjectQueue(FORGOT_PASSWORD_QUEUE) private readonly queue: Queue<ForgotPasswordJob>,
    private readonly keyRing: KeyRing,
    private readonly worker: WorkerDatabase,
    private readonly repository: PasswordsRepository,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {
    queue.on('error', () => undefined); // logged by RedisConnections
  }

  /**
   * Queues a request without reading accounts. A request over the limit is dropped silently.
   * @param client  key of the rate limit
   * @throws UnavailableError when Redis is down
   */
  async request(email: string, client: string): Promise<void> {
    try {
      await this.limits.hit(this.config.limits.forgotPassword, client);
    } catch (error) {
      if (error instanceof RateLimitedError) return;
      throw error;
    }
    await this.enqueue(email);
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

  private async enqueue(email: string): Promise<void> {
    const request: ForgotPasswordRequest = { email, ...jobContext() };
    const sealed = this.keyRing.seal(JSON.stringify(request), FORGOT_PASSWORD_CONTEXT);
    const options = { ...RETRIES, removeOnComplete: true, removeOnFail: true };
    const added = this.queue.add(JOB, { sealed }, options).then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([added, sleep(WAIT_MS, false, { ref: false })]))) throw new UnavailableError();
  }

  /**
   * Issues a link and invalidates older ones of the user.
   * @returns the URL to mail, based on PUBLIC_APP_URL alone; null for a user who could not sign in with a password
   */
  private async issue(tx: SqlExecutor, user: User): Promise<string | null> {
    if (!canResetPassword(user)) return null;
    const { key, keyHash } = mintLinkToken();
    const stored = await this.repository.replaceLink(tx, user.id, user.email, keyHash);
    return stored ? `${this.config.publicAppUrl}/reset-password?token=${key}` : null;
  }
}
