import { IsName, IsNestedList, IsOneOf, IsText, IsWordList } from '@rmm/validation';
import { WebhookHeaderDto } from './webhook-header.dto.js';
import { WebhookSettingsDto } from './webhook-settings.dto.js';
import { WEBHOOK_STATUSES, type WebhookStatus } from './webhook.dto.js';

export class UpdateWebhookDto extends WebhookSettingsDto {
  @IsName({ optional: true, description: 'Shown in lists' })
  name?: string;

  @IsName({ max: 2_048, optional: true, description: 'The masked URL keeps the stored one' })
  url?: string;

  @IsText({ min: 1, max: 255, optional: true, nullable: true, description: 'null removes it, ******** keeps it' })
  secret?: string | null;

  @IsWordList({ min: 1, max: 50, optional: true, description: 'Event types, `*`, or wildcards such as `device.*`' })
  events?: string[];

  @IsNestedList(() => WebhookHeaderDto, {
    max: 20,
    optional: true,
    description: 'Replaces all; ******** keeps the stored value',
  })
  headers?: WebhookHeaderDto[];

  @IsOneOf(WEBHOOK_STATUSES, { optional: true, description: 'Paused and failed webhooks receive nothing' })
  status?: WebhookStatus;
}
