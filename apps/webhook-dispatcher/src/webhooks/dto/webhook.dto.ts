import { ApiProperty } from '@nestjs/swagger';
import type { WebhookHeader } from '../webhook-headers.policy.js';
import { WebhookHeaderDto } from './webhook-header.dto.js';

export const WEBHOOK_STATUSES = ['active', 'paused', 'failed'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

const isoDate = { type: String, format: 'date-time', nullable: true } as const;

/** A webhook with its secrets masked. @see docs/reference/webhooks.md */
export class WebhookDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the webhook' })
  id!: string;
  @ApiProperty({ format: 'uuid', description: 'Organization of the webhook' })
  orgId!: string;
  @ApiProperty({ description: 'Name of the webhook' })
  name!: string;
  @ApiProperty({ type: String, nullable: true, description: 'Free text about the webhook' })
  description!: string | null;
  @ApiProperty({ description: 'Without userinfo and without query parameters whose names suggest secrets' })
  url!: string;
  @ApiProperty({ type: [String], description: 'Types and patterns it is subscribed to' })
  events!: string[];
  @ApiProperty({ type: [WebhookHeaderDto], description: 'Headers added to each delivery' })
  headers!: WebhookHeader[];
  @ApiProperty({ enum: WEBHOOK_STATUSES, description: 'State of the webhook' })
  status!: WebhookStatus;
  @ApiProperty({ description: 'Whether deliveries are signed' })
  hasSecret!: boolean;
  @ApiProperty({ ...isoDate, description: 'Until when the previous secret signs as well; null when it does not' })
  secretOverlapUntil!: string | null;
  @ApiProperty({ description: 'Whether deliveries also carry the headers of Standard Webhooks' })
  standardWebhooks!: boolean;
  @ApiProperty({ type: 'integer', description: 'Deliveries that succeeded' })
  successCount!: number;
  @ApiProperty({ type: 'integer', description: 'Deliveries that failed' })
  failureCount!: number;
  @ApiProperty({ ...isoDate, description: 'When an attempt last ended; null: never' })
  lastDeliveryAt!: string | null;
  @ApiProperty({ ...isoDate, description: 'When a delivery last succeeded; null: never' })
  lastSuccessAt!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'User who created the webhook' })
  createdBy!: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the webhook was created' })
  createdAt!: string;
  @ApiProperty({ format: 'date-time', description: 'When the webhook was last changed' })
  updatedAt!: string;
}

export class DeletedWebhookDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true; a failure is an error response' })
  success!: true;
}

export class DeliveryStatsDto {
  @ApiProperty({ type: 'integer', description: 'Deliveries in all' })
  total!: number;
  @ApiProperty({ type: 'integer', description: 'Deliveries that are not tried yet' })
  pending!: number;
  @ApiProperty({ type: 'integer', description: 'Deliveries that succeeded' })
  delivered!: number;
  @ApiProperty({ type: 'integer', description: 'Deliveries that failed for good' })
  failed!: number;
  @ApiProperty({ type: 'integer', description: 'Deliveries that are tried again' })
  retrying!: number;
  @ApiProperty({ ...isoDate, description: 'When a delivery last succeeded; null: never' })
  lastDeliveredAt!: string | null;
}

export class WebhookWithStatsDto extends WebhookDto {
  @ApiProperty({ type: DeliveryStatsDto, description: 'Counts of the deliveries' })
  deliveryStats!: DeliveryStatsDto;
}

/** The fields that deliveries and the rotation of a secret change; those of a partner's webhooks are the same. */
export const VOLATILE_WEBHOOK_FIELDS = [
  'deliveryStats',
  'failureCount',
  'lastDeliveryAt',
  'lastSuccessAt',
  'secretOverlapUntil',
  'successCount',
] as const satisfies (keyof WebhookWithStatsDto)[];
