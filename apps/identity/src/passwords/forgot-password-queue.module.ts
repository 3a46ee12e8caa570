import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { RedisConnections } from '@rmm/service-kit';
import { FORGOT_PASSWORD_QUEUE } from './forgot-password-queue.service.js';

/** Registers the queue of forgotten passwords. */
@Module({
  imports: [
    BullModule.registerQueueAsync({
      name: FORGOT_PASSWORD_QUEUE,
      inject: [RedisConnections],
      useFactory: (redis: RedisConnections) => ({
        connection: redis.duplicate(),
        prefix: `{rmm:${FORGOT_PASSWORD_QUEUE}}`,
        skipVersionCheck: true,
      }),
    }),
  ],
  exports: [BullModule],
})
export class ForgotPasswordQueueModule {}
