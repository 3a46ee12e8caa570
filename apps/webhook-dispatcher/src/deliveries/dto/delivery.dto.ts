import { ApiProperty } from '@nestjs/swagger';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../delivery.entity.js';

/** @see docs/reference/webhooks.md */
export class DeliveryDto {
  @ApiProperty({ format: 'uuid' })
  id!: string;
  @ApiProperty({ format: 'uuid' })
  webhookId!: string;
  @ApiProperty({ format: 'uuid' })
  orgId!: string;
  @ApiProperty({ enum: DELIVERY_STATUSES })
  status!: DeliveryStatus;
  @ApiProperty()
  event!: string;
  @ApiProperty()
  eventId!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'The full body that is sent; null once it is no longer stored',
  })
  payload!: Record<string, unknown> | null;
  @ApiProperty({ type: 'integer', nullable: true })
  responseStatus!: number | null;
  @ApiProperty({ type: String, nullable: true })
  responseBody!: string | null;
  @ApiProperty({ type: 'integer', nullable: true })
  responseTimeMs!: number | null;
  @ApiProperty({ type: String, nullable: true })
  errorMessage!: string | null;
  @ApiProperty({ type: 'integer', description: 'Attempts made' })
  attempt!: number;
  @ApiProperty({ type: 'integer' })
  maxAttempts!: number;
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  nextAttemptAt!: string | null;
  @ApiProperty({ format: 'date-time' })
  createdAt!: string;
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  deliveredAt!: string | null;
}

export class PendingDeliveryDto {
  @ApiProperty({ format: 'uuid' })
  id!: string;
  @ApiProperty({ format: 'uuid' })
  webhookId!: string;
  @ApiProperty({ enum: ['pending'] })
  status!: 'pending';
  @ApiProperty()
  event!: string;
  @ApiProperty({ type: 'integer' })
  attempt!: 0;
}

/** The response of test and retry. */
export class AcceptedDeliveryDto {
  @ApiProperty()
  message!: string;
  @ApiProperty({ type: PendingDeliveryDto })
  delivery!: PendingDeliveryDto;
}
