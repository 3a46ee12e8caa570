import { IsFlag } from '@rmm/service-kit';

/** The optional settings that a request may set when it creates or updates a webhook. */
export class WebhookSettingsDto {
  @IsFlag({
    optional: true,
    description: 'Whether deliveries also carry the headers of Standard Webhooks; default false',
  })
  standardWebhooks?: boolean;
}
