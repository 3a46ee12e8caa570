import { IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { WEBHOOK_STATUSES, type WebhookStatus } from './webhook.dto.js';

export class ListWebhooksDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Required for partner and system callers' })
  orgId?: string;

  @IsOneOf(WEBHOOK_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: WebhookStatus;
}
