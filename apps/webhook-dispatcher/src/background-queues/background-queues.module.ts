import { Module } from '@nestjs/common';
import { DeadLetterQueueService } from './dead-letter-queue.service.js';
import { RetryQueueService } from './retry-queue.service.js';

/** Provides the BullMQ queues in Redis. PostgreSQL holds the same state, so losing Redis loses nothing. */
@Module({
  providers: [DeadLetterQueueService, RetryQueueService],
  exports: [DeadLetterQueueService, RetryQueueService],
})
export class BackgroundQueuesModule {}
