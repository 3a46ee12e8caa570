import { IsName, IsNestedList, IsText, IsWordList } from '@rmm/validation';
import { WebhookHeaderDto } from './webhook-header.dto.js';
import { WebhookSettingsDto } from './webhook-settings.dto.js';

export class CreatePartnerWebhookDto extends WebhookSettingsDto {
  @IsName({ description: 'Shown in lists' })
  name!: string;

  @IsName({
    max: 2_048,
    description: 'The destination; https, unless the address is private and the fleet is self-hosted',
  })
  url!: string;

  @IsText({ min: 1, max: 255, optional: true, description: 'Signs deliveries; never returned' })
  secret?: string;

  @IsWordList({ min: 1, max: 50, description: 'Event types, `*`, or wildcards such as `device.*`' })
  events!: string[];

  @IsNestedList(() => WebhookHeaderDto, { max: 20, optional: true, description: 'Sent with each delivery' })
  headers?: WebhookHeaderDto[];
}
