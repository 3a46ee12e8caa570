import { ApiProperty, OmitType } from '@nestjs/swagger';
import { DeliveryStatsDto, WebhookDto } from './webhook.dto.js';

/** A webhook of a partner, which gets the events of all its organizations. @see docs/reference/webhooks.md */
export class PartnerWebhookDto extends OmitType(WebhookDto, ['orgId']) {
  @ApiProperty({ format: 'uuid', description: 'Partner of the webhook' })
  partnerId!: string;
}

export class PartnerWebhookWithStatsDto extends PartnerWebhookDto {
  @ApiProperty({ type: DeliveryStatsDto, description: 'Counts of the deliveries' })
  deliveryStats!: DeliveryStatsDto;
}
