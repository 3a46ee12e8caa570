import { Module } from '@nestjs/common';
import { SendingModule } from '../sending/sending.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { RecoveryController } from './recovery.controller.js';
import { RecoveryRepository } from './recovery.repository.js';
import { RecoveryService } from './recovery.service.js';

@Module({
  imports: [SendingModule, WebhooksModule],
  controllers: [RecoveryController],
  providers: [RecoveryRepository, RecoveryService],
})
export class RecoveryModule {}
