import { Module } from '@nestjs/common';
import { BackgroundModule } from '../background/background.module.js';
import { SendingModule } from '../sending/sending.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { RecoverWebhooksJob } from './recover-webhooks.job.js';
import { RecoveryController } from './recovery.controller.js';
import { RecoveryRepository } from './recovery.repository.js';
import { RecoveryService } from './recovery.service.js';

@Module({
  imports: [BackgroundModule, SendingModule, WebhooksModule],
  controllers: [RecoveryController],
  providers: [RecoverWebhooksJob, RecoveryRepository, RecoveryService],
  exports: [RecoveryService],
})
export class RecoveryModule {}
