import { Module } from '@nestjs/common';
import { DeadLetterQueue } from './dead-letter-queue.js';
import { RetryQueue } from './retry-queue.js';

/** Provides the BullMQ queues in Redis. PostgreSQL holds the same state, so losing Redis loses nothing. */
@Module({
  providers: [DeadLetterQueue, RetryQueue],
  exports: [DeadLetterQueue, RetryQueue],
})
export class BackgroundQueuesModule {}
