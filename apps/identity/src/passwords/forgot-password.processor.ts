import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import type { Job } from 'bullmq';
import { Logger } from '@rmm/service-kit';
import { FORGOT_PASSWORD_QUEUE, ForgotPasswordService, type ForgotPasswordJob } from './forgot-password.service.js';

/** Processes queued requests for a new password. */
@Processor(FORGOT_PASSWORD_QUEUE, { concurrency: 4 })
export class ForgotPasswordProcessor extends WorkerHost {
  constructor(
    private readonly forgotPassword: ForgotPasswordService,
    private readonly logger: Logger,
  ) {
    super();
  }

  override process({ data }: Job<ForgotPasswordJob>): Promise<void> {
    return this.forgotPassword.process(data);
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
