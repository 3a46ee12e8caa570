import { IsFlag, IsText } from '@rmm/validation';

/** The optional settings that a request may set when it creates or updates a webhook. */
export class WebhookSettingsDto {
  @IsText({ description: 'What the webhook is for; null removes it', max: 1_000, optional: true, nullable: true })
  description?: string | null;

  @IsFlag({
    optional: true,
    description: 'Whether deliveries also carry the headers of Standard Webhooks; default false',
  })
  standardWebhooks?: boolean;
}
