import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';
import { jobContext, runJob, type JobContext } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { RateLimitedError, RateLimits, UnavailableError, type RateLimit } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { InvitationLinksService } from '../invitations/invitation-links.service.js';
import { UsersRepository } from '../users/users.repository.js';
import { ResetLinksService } from './reset-links.service.js';

export const FORGOT_PASSWORD_QUEUE = 'identity-forgot-password';
const JOB = 'forgot';
const SEAL_CONTEXT = 'forgot-password.job';
const WAIT_MS = 2_000;
/** Retries for about two minutes, so that a short outage of a store loses no request; after that users request again. */
const RETRIES = { attempts: 8, backoff: { type: 'exponential', delay: 1_000 } };

/** The job as stored in Redis: the address is sealed. */
export interface ForgotPasswordJob {
  sealed: string;
}

/** The unsealed content of a job. */
type ForgotPasswordRequest = JobContext & { email: string };

/**
 * Takes requests for a new password in public and mails links in the background, so that the response time does not
 * depend on the account.
 */
@Injectable()
export class ForgotPasswordService {
  constructor(
    @InjectQueue(FORGOT_PASSWORD_QUEUE) private readonly queue: Queue<ForgotPasswordJob>,
    private readonly keyRing: KeyRing,
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly links: ResetLinksService,
    private readonly invitations: InvitationLinksService,
    private readonly limits: RateLimits,
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
    if (await this.isWithin(this.config.limits.forgotPassword, client)) await this.enqueue(email);
  }

  /** Finds the account of a queued address and mails a link. A repeated job is harmless: only the newest link is valid. */
  process({ sealed }: ForgotPasswordJob): Promise<void> {
    const { email, ...context } = JSON.parse(this.keyRing.open(sealed, SEAL_CONTEXT)) as ForgotPasswordRequest;
    return runJob(context, () => this.sendLink(email));
  }

  private async enqueue(email: string): Promise<void> {
    const request: ForgotPasswordRequest = { email, ...jobContext() };
    const sealed = this.keyRing.seal(JSON.stringify(request), SEAL_CONTEXT);
    const options = { ...RETRIES, removeOnComplete: true, removeOnFail: true };
    const added = this.queue.add(JOB, { sealed }, options).then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([added, sleep(WAIT_MS, false, { ref: false })]))) throw new UnavailableError();
  }

  /** Mails a link to a user who may have one, an invited user that of its invitation; limited per account, so that many clients cannot flood a mailbox. */
  private async sendLink(email: string): Promise<void> {
    const user = await this.users.findByEmail(this.worker, email);
    const isNew = user?.status === 'invited' && user.passwordHash === null;
    if (!user || !(isNew || this.links.canReset(user))) return;
    if (!(await this.isWithin(this.config.limits.forgotPasswordAccount, user.id))) return;
    await (isNew ? this.invitations.sendActivation(user) : this.links.send(user));
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
