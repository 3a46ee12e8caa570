import { Module } from '@nestjs/common';
import { BackgroundModule } from '../background/background.module.js';
import { SealedWebhooksRepository } from './sealed-webhooks.repository.js';
import { WebhookResealingService } from './webhook-resealing.service.js';
import { WebhookSealingService } from './webhook-sealing.service.js';
import { WebhookSecretsController } from './webhook-secrets.controller.js';
import { WebhookSecretsService } from './webhook-secrets.service.js';
import { WebhookSettingsService } from './webhook-settings.service.js';
import { WebhookMapper } from './webhook.mapper.js';
import { WebhooksController } from './webhooks.controller.js';
import { WebhooksRepository } from './webhooks.repository.js';
import { WebhooksService } from './webhooks.service.js';

@Module({
  imports: [BackgroundModule],
  controllers: [WebhooksController, WebhookSecretsController],
  providers: [
    SealedWebhooksRepository,
    WebhookMapper,
    WebhookResealingService,
    WebhookSealingService,
    WebhookSecretsService,
    WebhookSettingsService,
    WebhooksRepository,
    WebhooksService,
  ],
  exports: [WebhookMapper, WebhookSealingService, WebhookSecretsService, WebhooksRepository, WebhooksService],
})
export class WebhooksModule {}
