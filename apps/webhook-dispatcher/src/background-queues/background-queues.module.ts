import { Module } from '@nestjs/common';
import { CleanDeadLetterQueueJob } from './clean-dead-letter-queue.job.js';
import { DeadLetterQueueService } from './dead-letter-queue.service.js';
import { RetryQueueService } from './retry-queue.service.js';

/** The BullMQ queues in Redis. PostgreSQL has the same state, so losing Redis loses nothing. */
@Module({
  providers: [CleanDeadLetterQueueJob, DeadLetterQueueService, RetryQueueService],
  exports: [DeadLetterQueueService, RetryQueueService],
})
export class BackgroundQueuesModule {}
