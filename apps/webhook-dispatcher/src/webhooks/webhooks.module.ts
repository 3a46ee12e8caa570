import { Module } from '@nestjs/common';
import { BackgroundModule } from '../background/background.module.js';
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
    WebhookMapper,
    WebhookSealingService,
    WebhookSecretsService,
    WebhookSettingsService,
    WebhooksRepository,
    WebhooksService,
  ],
  exports: [WebhookSealingService, WebhooksRepository],
})
export class WebhooksModule {}
