import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import type { Job } from 'bullmq';
import { runJob } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { FORGOT_PASSWORD_QUEUE, ForgotPasswordQueue, type ForgotPasswordJob } from './forgot-password-queue.service.js';
import { ForgottenPasswordsService } from './forgotten-passwords.service.js';

/** Finds the account of an address and mails a link. A repeated job is harmless: only the newest link is valid. */
@Processor(FORGOT_PASSWORD_QUEUE, { concurrency: 4 })
export class ForgotPasswordProcessor extends WorkerHost {
  constructor(
    private readonly queue: ForgotPasswordQueue,
    private readonly forgotten: ForgottenPasswordsService,
    private readonly logger: Logger,
  ) {
    super();
  }

  override process({ data }: Job<ForgotPasswordJob>): Promise<void> {
    const { email, ...context } = this.queue.open(data);
    return runJob(context, () => this.forgotten.sendLink(email));
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
}
