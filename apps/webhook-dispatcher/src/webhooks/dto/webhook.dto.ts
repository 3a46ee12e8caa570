import { ApiProperty } from '@nestjs/swagger';
import type { WebhookHeader } from '../webhook-headers.policy.js';
import { WebhookHeaderDto } from './webhook-header.dto.js';

export const WEBHOOK_STATUSES = ['active', 'paused', 'failed'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

const isoDate = { type: String, format: 'date-time', nullable: true } as const;

/** A webhook with its secrets masked. @see docs/reference/webhooks.md */
export class WebhookDto {
  @ApiProperty({ format: 'uuid' })
  id!: string;
  @ApiProperty({ format: 'uuid' })
  orgId!: string;
  @ApiProperty()
  name!: string;
  @ApiProperty({ type: String, nullable: true })
  description!: string | null;
  @ApiProperty({ description: 'Without userinfo and without query parameters whose names suggest secrets' })
  url!: string;
  @ApiProperty({ type: [String] })
  events!: string[];
  @ApiProperty({ type: [WebhookHeaderDto] })
  headers!: WebhookHeader[];
  @ApiProperty({ enum: WEBHOOK_STATUSES })
  status!: WebhookStatus;
  @ApiProperty()
  hasSecret!: boolean;
  @ApiProperty({ ...isoDate, description: 'Until when the previous secret signs as well; null when it does not' })
  secretOverlapUntil!: string | null;
  @ApiProperty({ description: 'Whether deliveries also carry the headers of Standard Webhooks' })
  standardWebhooks!: boolean;
  @ApiProperty({ type: 'integer' })
  successCount!: number;
  @ApiProperty({ type: 'integer' })
  failureCount!: number;
  @ApiProperty(isoDate)
  lastDeliveryAt!: string | null;
  @ApiProperty(isoDate)
  lastSuccessAt!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  createdBy!: string | null;
  @ApiProperty({ format: 'date-time' })
  createdAt!: string;
  @ApiProperty({ format: 'date-time' })
  updatedAt!: string;
}

export class DeletedWebhookDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success!: true;
}

export class DeliveryStatsDto {
  @ApiProperty({ type: 'integer' })
  total!: number;
  @ApiProperty({ type: 'integer' })
  pending!: number;
  @ApiProperty({ type: 'integer' })
  delivered!: number;
  @ApiProperty({ type: 'integer' })
  failed!: number;
  @ApiProperty({ type: 'integer' })
  retrying!: number;
  @ApiProperty(isoDate)
  lastDeliveredAt!: string | null;
}

export class WebhookWithStatsDto extends WebhookDto {
  @ApiProperty({ type: DeliveryStatsDto })
  deliveryStats!: DeliveryStatsDto;
}
