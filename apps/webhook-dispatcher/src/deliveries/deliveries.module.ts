import { Module } from '@nestjs/common';
import { DeadLettersController } from '../dead-letters/dead-letters.controller.js';
import { DeadLettersRepository } from '../dead-letters/dead-letters.repository.js';
import { DeadLettersService } from '../dead-letters/dead-letters.service.js';
import { SendingModule } from '../sending/sending.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { DeliveriesController } from './deliveries.controller.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import { DeliveriesService } from './deliveries.service.js';
import { DeliveryRetentionRepository } from './delivery-retention.repository.js';
import { DeliveryRetentionService } from './delivery-retention.service.js';

/** Deliveries and dead letters, since a retry reads and writes both. */
@Module({
  imports: [SendingModule, WebhooksModule],
  controllers: [DeadLettersController, DeliveriesController],
  providers: [
    DeadLettersRepository,
    DeadLettersService,
    DeliveriesRepository,
    DeliveriesService,
    DeliveryRetentionRepository,
    DeliveryRetentionService,
  ],
  exports: [DeadLettersService, DeliveriesService, DeliveryRetentionService],
})
export class DeliveriesModule {}
