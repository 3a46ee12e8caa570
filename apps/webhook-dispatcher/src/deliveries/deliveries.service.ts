import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { type AuditAction, EVENT_TYPES, isEventType, WEBHOOK_TEST_EVENT } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { restrictToOrganization, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { type ListPage, toPage } from '@rmm/validation';
import { DeadLettersRepository } from '../dead-letters/dead-letters.repository.js';
import { createWebhookBody } from '../intake/webhook-event.mapper.js';
import { LIMITS } from '../limits.js';
import { maxAttemptsOf } from '../sending/retry-delay.js';
import { RetrySchedulerService } from '../sending/retry-scheduler.service.js';
import type { Webhook, WebhookScope } from '../webhooks/webhook.entity.js';
import { UnsupportedEventType, WebhookNotActive } from '../webhooks/webhook.errors.js';
import { webhookResource } from '../webhooks/webhook.mapper.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import { DeliveriesRepository, type NewDelivery } from './deliveries.repository.js';
import { DeliveryNotFailed } from './delivery.errors.js';
import { toDeliveryDto } from './delivery.mapper.js';
import type { AcceptedDeliveryDto, DeliveryDto } from './dto/delivery.dto.js';
import type { ListDeliveriesDto } from './dto/list-deliveries.dto.js';
import type { TestWebhookDto } from './dto/test-webhook.dto.js';

@Injectable()
export class DeliveriesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly webhooks: WebhooksRepository,
    private readonly repository: DeliveriesRepository,
    private readonly audit: AuditTrail,
    private readonly deadLetters: DeadLettersRepository,
    private readonly scheduler: RetrySchedulerService,
    private readonly limits: RateLimits,
  ) {}

  /** Lists a page, newest first. @throws WebhookNotFound, InvalidCursor */
  async list(
    caller: UserCaller,
    webhookId: string,
    query: ListDeliveriesDto,
    scope: WebhookScope = 'organization',
  ): Promise<ListPage<DeliveryDto>> {
    const { orgId } = await this.webhooks.get(caller, webhookId, scope);
    const reader = orgId === null ? caller : restrictToOrganization(caller, orgId);
    const filter = { webhookId, status: query.status, eventType: query.event };
    const { cursor, limit } = query;
    if (cursor !== undefined) {
      const { rows, nextCursor } = await this.repository.listAfter(reader, filter, { cursor, limit });
      return { data: rows.map(toDeliveryDto), pagination: { nextCursor, limit } };
    }
    const { rows, ...counted } = await this.repository.list(reader, filter, query);
    return toPage(query, counted, rows.map(toDeliveryDto));
  }

  /**
   * Creates a delivery of an event that did not happen.
   * @throws UnsupportedEventType, WebhookNotFound, WebhookNotActive, RateLimitedError
   */
  async test(
    caller: UserCaller,
    webhookId: string,
    dto: TestWebhookDto,
    scope: WebhookScope = 'organization',
  ): Promise<AcceptedDeliveryDto> {
    const eventType = dto.event ?? WEBHOOK_TEST_EVENT;
    if (eventType !== WEBHOOK_TEST_EVENT && !isEventType(eventType)) {
      throw new UnsupportedEventType([eventType], [...EVENT_TYPES, WEBHOOK_TEST_EVENT]);
    }
    // The limit counts only requests that pass the other checks.
    const { status } = await this.webhooks.get(caller, webhookId, scope);
    if (status !== 'active') throw new WebhookNotActive();
    await this.limits.hit(LIMITS.testWebhook, webhookId);
    return this.tenants.transaction(caller, async (tx) => {
      const webhook = await this.webhooks.lock(tx, webhookId, scope);
      if (webhook.status !== 'active') throw new WebhookNotActive();
      const eventId = randomUUID();
      const timestamp = new Date().toISOString();
      const data = dto.payload ?? { message: 'This is a test delivery', timestamp, webhookId };
      return this.accept(tx, caller, 'webhook.test', 'Test delivery queued', {
        id: randomUUID(),
        webhook,
        orgId: webhook.orgId,
        eventType,
        eventId,
        body: createWebhookBody(
          { id: eventId, type: eventType, timestamp, orgId: webhook.orgId },
          JSON.stringify(data),
        ),
        maxAttempts: maxAttemptsOf(webhook),
        repeatOf: null,
      });
    });
  }

  /** Creates a delivery with the event and body of a failed one. @throws as `repeat`, and WebhookNotFound */
  retry(
    caller: UserCaller,
    webhookId: string,
    deliveryId: string,
    scope: WebhookScope = 'organization',
  ): Promise<AcceptedDeliveryDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const webhook = await this.webhooks.lock(tx, webhookId, scope);
      return this.repeat(tx, caller, webhook, deliveryId, 'webhook.retry');
    });
  }

  /**
   * Creates a delivery that sends a failed one again, and deletes its dead letter.
   * @param webhook  locked
   * @throws DeliveryNotFound, DeliveryNotFailed, WebhookNotActive
   */
  async repeat(
    tx: TenantTransaction,
    caller: UserCaller,
    webhook: Webhook,
    deliveryId: string,
    action: 'webhook.retry' | 'webhook.dead_letter.retry',
  ): Promise<AcceptedDeliveryDto> {
    const failed = await this.repository.get(tx, webhook.id, deliveryId);
    if (failed.status !== 'failed' || failed.body === null) throw new DeliveryNotFailed();
    if (webhook.status !== 'active') throw new WebhookNotActive();
    await this.deadLetters.remove(tx, deliveryId);
    return this.accept(tx, caller, action, 'Delivery queued for retry', {
      id: randomUUID(),
      webhook,
      orgId: failed.orgId,
      eventType: failed.eventType,
      eventId: failed.eventId,
      body: failed.body,
      maxAttempts: maxAttemptsOf(webhook),
      repeatOf: failed.id,
    });
  }

  private async accept(
    tx: TenantTransaction,
    caller: UserCaller,
    action: AuditAction,
    message: string,
    delivery: NewDelivery,
  ): Promise<AcceptedDeliveryDto> {
    const { id, webhook, eventType, eventId } = delivery;
    const details = { deliveryId: id, event: eventType, eventId };
    await this.repository.insert(tx, delivery);
    await this.audit.record(tx, caller, action, webhookResource(webhook), details);
    tx.afterCommit(() => this.scheduler.notifyDue(webhook));
    return { message, delivery: { id, webhookId: webhook.id, status: 'pending', event: eventType, attempt: 0 } };
  }
}
