import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import type { Job } from 'bullmq';
import { runJob } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { KeyRing } from '@rmm/secrets';
import { Logger, RateLimitedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { InvitationLinksService } from '../invitations/invitation-links.service.js';
import { canResetPassword } from './password-reset.policy.js';
import { PasswordsRepository } from './passwords.repository.js';
import {
  FORGOT_PASSWORD_CONTEXT,
  FORGOT_PASSWORD_QUEUE,
  ResetLinksService,
  type ForgotPasswordJob,
  type ForgotPasswordRequest,
} from './reset-links.service.js';

/** Mails a link to the user of a queued request. A repeated job is harmless: only the newest link is valid. */
@Processor(FORGOT_PASSWORD_QUEUE, { concurrency: 4 })
export class ForgotPasswordProcessor extends WorkerHost {
  constructor(
    private readonly keyRing: KeyRing,
    private readonly database: WorkerDatabase,
    private readonly repository: PasswordsRepository,
    private readonly links: ResetLinksService,
    private readonly invitations: InvitationLinksService,
    private readonly limits: RateLimits,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {
    super();
  }

  override process({ data: { sealed } }: Job<ForgotPasswordJob>): Promise<void> {
    const opened = this.keyRing.open(sealed, FORGOT_PASSWORD_CONTEXT);
    const { email, ...context } = JSON.parse(opened) as ForgotPasswordRequest;
    return runJob('forgot-password', context, () => this.sendLink(email));
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job<ForgotPasswordJob> | undefined, err: Error): void {
    this.logger.warn(
      { err, attempts: job?.attemptsMade },
      'password reset mail could not be created; the job is retried, at most eight times',
    );
  }

  /** Without a listener BullMQ writes to the console. RedisConnections logs the outage. */
  @OnWorkerEvent('error')
  onError(): void {
    this.logger.debug('forgot-password worker lost its connection to Redis; it reconnects');
  }

  /** Mails a link to a user who may have one, an invited user that of its invitation; limited per account, so that many clients cannot flood a mailbox. */
  private async sendLink(email: string): Promise<void> {
    const user = await this.repository.findUserByEmail(this.database, email);
    const isNew = user?.status === 'invited' && user.passwordHash === null;
    if (!user || !(isNew || canResetPassword(user))) return;
    if (!(await this.mayMail(user.id))) return;
    await (isNew ? this.invitations.sendActivation(user) : this.links.send(user));
  }

  private async mayMail(userId: string): Promise<boolean> {
    try {
      await this.limits.hit(this.config.limits.forgotPasswordAccount, userId);
      return true;
    } catch (error) {
      if (error instanceof RateLimitedError) return false;
      throw error;
    }
  }
}
