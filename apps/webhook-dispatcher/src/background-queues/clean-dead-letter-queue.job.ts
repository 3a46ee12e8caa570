import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { DispatcherConfig } from '../config.js';
import { DeadLetterQueueService } from './dead-letter-queue.service.js';

/** Deletes the jobs of dead letters whose rows have been deleted by the retention. */
@Injectable()
export class CleanDeadLetterQueueJob {
  constructor(
    private readonly queue: DeadLetterQueueService,
    private readonly config: DispatcherConfig,
  ) {}

  @Job({ name: 'clean-dead-letter-queue', everyMs: 3_600_000 })
  async run(): Promise<void> {
    await this.queue.clean(this.config.deliveryRetentionDays * 86_400_000);
  }
}
