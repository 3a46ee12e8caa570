import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { RedisConnections } from '@rmm/service-kit';
import { MailMetrics } from './mail.metrics.js';
import { MailRepository } from './mail.repository.js';
import { MailRpc } from './mail.rpc.js';
import { MAIL_QUEUE, MailService } from './mail.service.js';
import { SendMailProcessor } from './send-mail.processor.js';
import { SweepMailsJob } from './sweep-mails.job.js';

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
  providers: [MailMetrics, MailRepository, MailService, SweepMailsJob, SendMailProcessor],
  exports: [MailService],
})
export class MailModule {}
