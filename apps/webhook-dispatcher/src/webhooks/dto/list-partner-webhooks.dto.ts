import { IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { WEBHOOK_STATUSES, type WebhookStatus } from './webhook.dto.js';

/** `?partnerId` is for system callers; other callers have access to their own partner only. */
export class PartnerQueryDto {
  @IsUuid({ optional: true, description: 'Required for system callers' })
  partnerId?: string;
}

export class ListPartnerWebhooksDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Required for system callers' })
  partnerId?: string;

  @IsOneOf(WEBHOOK_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: WebhookStatus;
}
