import { ApiProperty } from '@nestjs/swagger';
import { overlapAt } from '../secret-overlap.js';
import type { WebhookHeader } from '../webhook-headers.js';
import { MASK, maskHeaderValue, maskUrl } from '../webhook-masking.js';
import type { WebhookRow } from '../webhook-row.js';
import type { WebhookSealingService } from '../webhook-sealing.service.js';
import { toWebhookStatus, WEBHOOK_STATUSES, type WebhookStatus } from '../webhook-status.js';
import { WebhookHeaderDto } from './webhook-header.dto.js';

const isoDate = { type: String, format: 'date-time', nullable: true } as const;

/** A webhook as it may be shown. @see SPEC.md 2.8, CONTRACT.md 4.9 */
export class WebhookDto {
  @ApiProperty({ format: 'uuid' })
  id!: string;
  @ApiProperty({ format: 'uuid' })
  orgId!: string;
  @ApiProperty()
  name!: string;
  @ApiProperty({ description: 'Without userinfo and without query parameters that sound like secrets' })
  url!: string;
  @ApiProperty({ type: [String] })
  events!: string[];
  @ApiProperty({ type: [WebhookHeaderDto] })
  headers!: WebhookHeader[];
  @ApiProperty({ enum: WEBHOOK_STATUSES })
  status!: WebhookStatus;
  @ApiProperty()
  hasSecret!: boolean;
  @ApiProperty({ ...isoDate, description: 'Until when the secret before the last rotation signs as well' })
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

/** @param now  by which an overlap is in force or past */
export function toWebhookDto(row: WebhookRow, sealing: WebhookSealingService, now: Date): WebhookDto {
  return {
    id: row.id,
    orgId: row.orgId,
    name: row.name,
    ...shownParts(row, sealing),
    events: row.events,
    status: toWebhookStatus(row.status),
    hasSecret: row.secretSealed !== null,
    secretOverlapUntil: overlapAt(row, now).secretOverlapUntil?.toISOString() ?? null,
    standardWebhooks: row.standardWebhooks,
    successCount: Number(row.delivered),
    failureCount: Number(row.failed),
    lastDeliveryAt: row.lastDeliveryAt?.toISOString() ?? null,
    lastSuccessAt: row.lastSuccessAt?.toISOString() ?? null,
    createdBy: row.createdBy,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function toWebhookWithStatsDto(row: WebhookRow, sealing: WebhookSealingService, now: Date): WebhookWithStatsDto {
  const [total, delivered, failed, retrying] = [row.total, row.delivered, row.failed, row.retrying].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  return {
    ...toWebhookDto(row, sealing, now),
    deliveryStats: {
      total,
      pending: Math.max(0, total - delivered - failed - retrying),
      delivered,
      failed,
      retrying,
      lastDeliveredAt: row.lastSuccessAt?.toISOString() ?? null,
    },
  };
}

/** A row whose key is lost can still be listed, and deleted. */
function shownParts(row: WebhookRow, sealing: WebhookSealingService): Pick<WebhookDto, 'url' | 'headers'> {
  try {
    return {
      url: maskUrl(sealing.openUrl(row.id, row.urlSealed)),
      headers: sealing
        .openHeaders(row.id, row.headers)
        .map(({ key, value }) => ({ key, value: maskHeaderValue(key, value) })),
    };
  } catch {
    return { url: MASK, headers: row.headers.map(({ key }) => ({ key, value: MASK })) };
  }
}
