import { IsUuid } from '@rmm/validation';
import { CreatePartnerWebhookDto } from './create-partner-webhook.dto.js';

export class CreateWebhookDto extends CreatePartnerWebhookDto {
  @IsUuid({ optional: true, description: 'Required for partner and system callers' })
  orgId?: string;
}
