import { ApiProperty } from '@nestjs/swagger';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'retrying'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** A delivery row with the text of its event. */
export interface DeliveryRow {
  id: string;
  webhookId: string;
  orgId: string;
  status: DeliveryStatus;
  event: string;
  eventId: string;
  body: string | null;
  responseStatus: number | null;
  responseBody: string | null;
  responseTimeMs: number | null;
  errorMessage: string | null;
  attempt: number;
  maxAttempts: number;
  dueAt: Date;
  createdAt: Date;
  deliveredAt: Date | null;
}

/** @see SPEC.md 2.9, CONTRACT.md 4.9 */
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
    description: 'The full body that is sent; null when it is no longer kept',
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

/** What test and retry answer. */
export class AcceptedDelivery {
  @ApiProperty()
  message!: string;
  @ApiProperty({ type: PendingDeliveryDto })
  delivery!: PendingDeliveryDto;
}

export const toDeliveryDto = (row: DeliveryRow): DeliveryDto => ({
  id: row.id,
  webhookId: row.webhookId,
  orgId: row.orgId,
  status: row.status,
  event: row.event,
  eventId: row.eventId,
  payload: row.body === null ? null : (JSON.parse(row.body) as Record<string, unknown>),
  responseStatus: row.responseStatus,
  responseBody: row.responseBody,
  responseTimeMs: row.responseTimeMs,
  errorMessage: row.errorMessage,
  attempt: row.attempt,
  maxAttempts: row.maxAttempts,
  nextAttemptAt: row.status === 'retrying' ? row.dueAt.toISOString() : null,
  createdAt: row.createdAt.toISOString(),
  deliveredAt: row.deliveredAt?.toISOString() ?? null,
});
