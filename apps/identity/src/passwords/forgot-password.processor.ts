import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { runJob } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import type { Job } from 'bullmq';
import { FORGOT_PASSWORD_QUEUE, ForgotPasswordQueue, type ForgotPasswordJob } from './forgot-password-queue.js';
import { ForgottenPasswords } from './forgotten-passwords.service.js';

/** Looks the address up and mails a link, away from whoever asked. Twice does no harm: the newest link counts. */
@Processor(FORGOT_PASSWORD_QUEUE, { concurrency: 4 })
export class ForgotPasswordProcessor extends WorkerHost {
  constructor(
    private readonly queue: ForgotPasswordQueue,
    private readonly forgotten: ForgottenPasswords,
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
    this.logger.warn({ err, attempts: job?.attemptsMade }, 'A link for a forgotten password could not be made');
  }

  /** Without a listener BullMQ writes to the console. RedisConnections has logged that Redis is away. */
  @OnWorkerEvent('error')
  onError(): void {
    this.logger.debug('The worker for forgotten passwords lost Redis');
  }
}
