import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { RedisConnections } from '@rmm/service-kit';
import { MailAudienceRepository } from './mail-audience.repository.js';
import { MAIL_QUEUE, MailOutbox } from './mail-outbox.js';
import { MailSweep } from './mail-sweep.js';
import { MailTransport } from './mail-transport.js';
import { MailRpc } from './mail.rpc.js';
import { MailRepository } from './mail.repository.js';
import { SendMailProcessor } from './send-mail.processor.js';

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
  providers: [MailOutbox, MailAudienceRepository, MailRepository, MailTransport, MailSweep, SendMailProcessor],
  exports: [MailOutbox],
})
export class MailModule {}
