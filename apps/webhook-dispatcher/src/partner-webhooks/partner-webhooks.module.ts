import { Module } from '@nestjs/common';
import { AttemptLogModule } from '../attempt-log/attempt-log.module.js';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { RecoveryModule } from '../recovery/recovery.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { PartnerDeadLettersController } from './partner-dead-letters.controller.js';
import { PartnerDeliveriesController } from './partner-deliveries.controller.js';
import { PartnerWebhooksController } from './partner-webhooks.controller.js';
import { PartnerWebhooksService } from './partner-webhooks.service.js';

@Module({
  imports: [AttemptLogModule, DeliveriesModule, RecoveryModule, WebhooksModule],
  controllers: [PartnerDeadLettersController, PartnerWebhooksController, PartnerDeliveriesController],
  providers: [PartnerWebhooksService],
})
export class PartnerWebhooksModule {}
