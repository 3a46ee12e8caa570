import { WebhookSecretsController } from './webhook-secrets.controller.js';
import { WebhookSecretsService } from './webhook-secrets.service.js';

/** Rotating signing secrets. */
export const secretsFeature = {
  controllers: [WebhookSecretsController],
  providers: [WebhookSecretsService],
};
