import { ApiProperty, OmitType } from '@nestjs/swagger';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../delivery.entity.js';

/** @see docs/reference/webhooks.md */
export class DeliveryDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the delivery' })
  id!: string;
  @ApiProperty({ format: 'uuid', description: 'Id of the webhook' })
  webhookId!: string;
  @ApiProperty({ type: String, format: 'uuid', description: 'Organization of the delivery' })
  orgId!: string | null;
  @ApiProperty({ enum: DELIVERY_STATUSES, description: 'State of the delivery' })
  status!: DeliveryStatus;
  @ApiProperty({ description: 'Type of the event' })
  event!: string;
  @ApiProperty({ description: 'Id of the event; the same in each delivery of it' })
  eventId!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'The full body that is sent; null once it is no longer stored',
  })
  payload!: Record<string, unknown> | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'HTTP status of the response; null without one' })
  responseStatus!: number | null;
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'The first 1,000 characters of the response; null without one',
  })
  responseBody!: string | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds until the response; null without one' })
  responseTimeMs!: number | null;
  @ApiProperty({ type: String, nullable: true, description: 'Why the last attempt failed; null when it did not' })
  errorMessage!: string | null;
  @ApiProperty({ type: 'integer', description: 'Attempts made' })
  attempt!: number;
  @ApiProperty({ type: 'integer', description: 'Attempts before it becomes a dead letter' })
  maxAttempts!: number;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When it is tried next; null: not again',
  })
  nextAttemptAt!: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the delivery was created' })
  createdAt!: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When it was delivered; null: not yet',
  })
  deliveredAt!: string | null;
}

/** A delivery of a webhook of a partner. */
export class PartnerDeliveryDto extends OmitType(DeliveryDto, ['orgId']) {
  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'Organization of the event; null for a test',
  })
  orgId!: string | null;
}

export class PendingDeliveryDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the delivery' })
  id!: string;
  @ApiProperty({ format: 'uuid', description: 'Id of the webhook' })
  webhookId!: string;
  @ApiProperty({ enum: ['pending'], description: 'State of the delivery' })
  status!: 'pending';
  @ApiProperty({ description: 'Type of the event' })
  event!: string;
  @ApiProperty({ type: 'integer', description: 'Number of the attempt, from 1' })
  attempt!: 0;
}

/** The response of test and retry. */
export class AcceptedDeliveryDto {
  @ApiProperty({ description: 'What happens next' })
  message!: string;
  @ApiProperty({ type: PendingDeliveryDto, description: 'The delivery' })
  delivery!: PendingDeliveryDto;
}
