import { Injectable } from '@nestjs/common';
import type { OutgoingMessage } from '@rmm/messaging';
import { Clock } from '@rmm/service-kit';
import type { PartnerWebhookDto, PartnerWebhookWithStatsDto } from './dto/partner-webhook.dto.js';
import type { DeliveryStatsDto, WebhookDto, WebhookStatus, WebhookWithStatsDto } from './dto/webhook.dto.js';
import { MASK, maskHeaderValue, maskUrl } from './webhook-masking.policy.js';
import { WebhookSealingService } from './webhook-sealing.service.js';
import { currentOverlap, ownerOf, type StoredWebhookStatus, type Webhook } from './webhook.entity.js';
import type { WebhookWithCounts } from './webhooks.repository.js';

const STORED_STATUS: Readonly<Record<WebhookStatus, StoredWebhookStatus>> = {
  active: 'active',
  paused: 'disabled',
  failed: 'error',
};
const STATUS: Readonly<Record<StoredWebhookStatus, WebhookStatus>> = {
  active: 'active',
  disabled: 'paused',
  error: 'failed',
};

const toIso = (time: Date | null): string | null => time?.toISOString() ?? null;

export const toStoredStatus = (status: WebhookStatus): StoredWebhookStatus => STORED_STATUS[status];

/** Returns the resource of an audit entry. */
export const webhookResource = ({
  id,
  name,
  orgId,
  partnerId,
}: Pick<Webhook, 'id' | 'name' | 'orgId' | 'partnerId'>) => ({
  type: 'webhook',
  id,
  name,
  orgId,
  partnerId,
});

/** Returns the broadcast on which every replica reloads the webhook. */
export const webhookChanged = (
  { id, partnerId, orgId }: Pick<Webhook, 'id' | 'partnerId' | 'orgId'>,
  isDeleted = false,
): OutgoingMessage => ({
  stream: 'broadcast',
  type: 'webhook.changed',
  aggregateId: id,
  partnerId,
  orgId,
  data: { webhookId: id, isDeleted },
});

/** Maps rows to responses; opens what is sealed and masks secrets. */
@Injectable()
export class WebhookMapper {
  constructor(
    private readonly sealing: WebhookSealingService,
    private readonly clock: Clock,
  ) {}

  toDto(row: WebhookWithCounts): WebhookDto {
    return {
      id: row.id,
      orgId: ownerOf(row),
      name: row.name,
      description: row.description,
      ...this.maskedParts(row),
      events: row.events,
      status: STATUS[row.status],
      hasSecret: row.secretSealed !== null,
      secretOverlapUntil: toIso(currentOverlap(row, this.clock.now()).secretOverlapUntil),
      standardWebhooks: row.standardWebhooks,
      successCount: Number(row.delivered),
      failureCount: Number(row.failed),
      lastDeliveryAt: toIso(row.lastDeliveryAt),
      lastSuccessAt: toIso(row.lastSuccessAt),
      createdBy: row.createdBy,
      createdAt: row.createdAt.toISOString(),
      updatedAt: row.updatedAt.toISOString(),
    };
  }

  toPartnerDto(row: WebhookWithCounts): PartnerWebhookDto {
    const { orgId: _orgId, ...rest } = this.toDto(row);
    return { ...rest, partnerId: row.partnerId };
  }

  toDtoWithStats(row: WebhookWithCounts): WebhookWithStatsDto {
    return { ...this.toDto(row), deliveryStats: this.toStats(row) };
  }

  toPartnerDtoWithStats(row: WebhookWithCounts): PartnerWebhookWithStatsDto {
    return { ...this.toPartnerDto(row), deliveryStats: this.toStats(row) };
  }

  private toStats(row: WebhookWithCounts): DeliveryStatsDto {
    const total = Number(row.total);
    const delivered = Number(row.delivered);
    const failed = Number(row.failed);
    const retrying = Number(row.retrying);
    return {
      total,
      pending: Math.max(0, total - delivered - failed - retrying),
      delivered,
      failed,
      retrying,
      lastDeliveredAt: toIso(row.lastSuccessAt),
    };
  }

  /** Masks everything when a key is missing, so that the webhook can still be listed and deleted. */
  private maskedParts({ id, urlSealed, headers }: Webhook): Pick<WebhookDto, 'url' | 'headers'> {
    try {
      return {
        url: maskUrl(this.sealing.openUrl(id, urlSealed)),
        headers: this.sealing
          .openHeaders(id, headers)
          .map(({ key, value }) => ({ key, value: maskHeaderValue(key, value) })),
      };
    } catch {
      return { url: MASK, headers: headers.map(({ key }) => ({ key, value: MASK })) };
    }
  }
}
