import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { RedisConnections } from '@rmm/service-kit';
import { MailSweepJob } from './mail-sweep.job.js';
import { MailMetrics } from './mail.metrics.js';
import { MailRepository } from './mail.repository.js';
import { MailRpc } from './mail.rpc.js';
import { MAIL_QUEUE, MailService } from './mail.service.js';
import { SendMailProcessor } from './send-mail.processor.js';

/** Mails: outbox, templates, transport. */
@Module({
  imports: [
    BullModule.registerQueueAsync({
      name: MAIL_QUEUE,
      inject: [RedisConnections],
      useFactory: (redis: RedisConnections) => ({
        connection: redis.duplicate(),
        prefix: `{rmm:${MAIL_QUEUE}}`,
        skipVersionCheck: true,
      }),
    }),
  ],
  controllers: [MailRpc],
  providers: [MailMetrics, MailRepository, MailService, MailSweepJob, SendMailProcessor],
  exports: [MailService],
})
export class MailModule {}
