import { ApiProperty } from '@nestjs/swagger';
import type { WebhookHeader } from '../webhook-headers.js';
import { MASK, maskHeaderValue, maskUrl } from '../webhook-masking.js';
import type { WebhookRow } from '../webhook-row.js';
import type { WebhookSealing } from '../webhook-sealing.js';
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
  @ApiProperty(isoDate)
  secretOverlapUntil!: string | null;
  @ApiProperty()
  successCount!: number;
  @ApiProperty()
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

export class DeliveryStatsDto {
  @ApiProperty()
  total!: number;
  @ApiProperty()
  pending!: number;
  @ApiProperty()
  delivered!: number;
  @ApiProperty()
  failed!: number;
  @ApiProperty()
  retrying!: number;
  @ApiProperty(isoDate)
  lastDeliveredAt!: string | null;
}

export class WebhookWithStatsDto extends WebhookDto {
  @ApiProperty({ type: DeliveryStatsDto })
  deliveryStats!: DeliveryStatsDto;
}

export function toWebhookDto(row: WebhookRow, sealing: WebhookSealing): WebhookDto {
  return {
    id: row.id,
    orgId: row.orgId,
    name: row.name,
    ...shownParts(row, sealing),
    events: row.events,
    status: toWebhookStatus(row.status),
    hasSecret: row.secretSealed !== null,
    // A secret is replaced at once: there is never a second one in force.
    secretOverlapUntil: null,
    successCount: Number(row.delivered),
    failureCount: Number(row.failed),
    lastDeliveryAt: row.lastDeliveryAt?.toISOString() ?? null,
    lastSuccessAt: row.lastSuccessAt?.toISOString() ?? null,
    createdBy: row.createdBy,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function toWebhookWithStatsDto(row: WebhookRow, sealing: WebhookSealing): WebhookWithStatsDto {
  const [total, delivered, failed, retrying] = [row.total, row.delivered, row.failed, row.retrying].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  return {
    ...toWebhookDto(row, sealing),
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
function shownParts(row: WebhookRow, sealing: WebhookSealing): Pick<WebhookDto, 'url' | 'headers'> {
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
