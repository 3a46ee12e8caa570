import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { type AuditAction, EVENT_TYPES, isEventType, WEBHOOK_TEST_EVENT } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { Clock, type Paged, RateLimits, toPage } from '@rmm/service-kit';
import { webhookBody } from '../intake/event-refusal.js';
import { DeadLettersRepository } from '../dead-letters/dead-letters.repository.js';
import { DeadLetterQueueService } from '../background-queues/dead-letter-queue.service.js';
import { SweeperService } from '../sending/sweeper.service.js';
import { UnsupportedEventType, WebhookNotActive } from '../webhooks/webhook.errors.js';
import type { WebhookRow } from '../webhooks/webhook-row.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import { resourceOf } from '../webhooks/webhooks.service.js';
import { DeliveriesRepository, type NewDelivery } from './deliveries.repository.js';
import { DeliveryNotFailed } from './delivery.errors.js';
import { type AcceptedDelivery, type DeliveryDto, toDeliveryDto } from './dto/delivery.dto.js';
import type { ListDeliveriesDto } from './dto/list-deliveries.dto.js';
import type { TestWebhookDto } from './dto/test-webhook.dto.js';

/** CONTRACT.md 3. */
const TEST_LIMIT = { name: 'webhook-test', limit: 30, windowSeconds: 60, onRedisDown: 'allow' } as const;

@Injectable()
export class DeliveriesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly webhooks: WebhooksRepository,
    private readonly repository: DeliveriesRepository,
    private readonly audit: AuditTrail,
    private readonly deadLetters: DeadLettersRepository,
    private readonly deadLetterQueue: DeadLetterQueueService,
    private readonly sweeper: SweeperService,
    private readonly limits: RateLimits,
    private readonly clock: Clock,
  ) {}

  /** Newest first. */
  async list(caller: UserCaller, webhookId: string, query: ListDeliveriesDto): Promise<Paged<DeliveryDto>> {
    await this.webhooks.get(caller, webhookId);
    const { rows, total } = await this.repository.list(caller, {
      webhookId,
      status: query.status ?? null,
      event: query.event ?? null,
      limit: query.limit,
      offset: (query.page - 1) * query.limit,
    });
    return toPage(query, total, rows.map(toDeliveryDto));
  }

  /**
   * Makes a delivery that no event stands behind.
   * @throws UnsupportedEventType, WebhookNotFound, WebhookNotActive, RateLimitedError
   */
  async test(caller: UserCaller, webhookId: string, dto: TestWebhookDto): Promise<AcceptedDelivery> {
    const eventType = dto.event ?? WEBHOOK_TEST_EVENT;
    if (eventType !== WEBHOOK_TEST_EVENT && !isEventType(eventType)) {
      throw new UnsupportedEventType([eventType], [...EVENT_TYPES, WEBHOOK_TEST_EVENT]);
    }
    // Only what would be admitted uses the webhook's limit up.
    const { status } = await this.webhooks.get(caller, webhookId);
    if (status !== 'active') throw new WebhookNotActive();
    await this.limits.hit(TEST_LIMIT, webhookId);
    return this.tenants.transaction(caller, async (tx) => {
      const webhook = await this.webhooks.lock(tx, webhookId);
      if (webhook.status !== 'active') throw new WebhookNotActive();
      const eventId = randomUUID();
      const timestamp = this.clock.now().toISOString();
      const data = dto.payload ?? { message: 'This is a test delivery', timestamp, webhookId };
      const body = webhookBody({ id: eventId, type: eventType, timestamp, orgId: webhook.orgId, data });
      return this.accept(tx, caller, 'webhook.test', 'Test delivery queued', {
        id: randomUUID(),
        webhook,
        eventType,
        eventId,
        body,
        maxAttempts: await this.webhooks.maxAttempts(tx, webhookId),
        repeatOf: null,
      });
    });
  }

  /** A new delivery with the event and payload of a failed one, which stays as it is. */
  retry(caller: UserCaller, webhookId: string, deliveryId: string): Promise<AcceptedDelivery> {
    return this.tenants.transaction(caller, async (tx) => {
      const webhook = await this.webhooks.lock(tx, webhookId);
      return this.repeat(tx, caller, webhook, deliveryId, 'webhook.retry');
    });
  }

  /**
   * What a retry does, by hand or of a dead letter: the dead letter is taken up by either and goes.
   * @param webhook  locked
   * @throws DeliveryNotFound, DeliveryNotFailed, WebhookNotActive
   */
  async repeat(
    tx: TenantTransaction,
    caller: UserCaller,
    webhook: WebhookRow,
    deliveryId: string,
    action: 'webhook.retry' | 'webhook.dead_letter.retry',
  ): Promise<AcceptedDelivery> {
    const failed = await this.repository.get(tx, webhook.id, deliveryId);
    if (failed.status !== 'failed' || failed.body === null) throw new DeliveryNotFailed();
    if (webhook.status !== 'active') throw new WebhookNotActive();
    await this.deadLetters.take(tx, deliveryId);
    tx.afterCommit(() => void this.deadLetterQueue.remove([deliveryId]));
    return this.accept(tx, caller, action, 'Delivery queued for retry', {
      id: randomUUID(),
      webhook,
      eventType: failed.event,
      eventId: failed.eventId,
      body: failed.body,
      maxAttempts: await this.webhooks.maxAttempts(tx, webhook.id),
      repeatOf: failed.id,
    });
  }

  private async accept(
    tx: TenantTransaction,
    caller: UserCaller,
    action: AuditAction,
    message: string,
    delivery: NewDelivery,
  ): Promise<AcceptedDelivery> {
    const { id, webhook, eventType, eventId } = delivery;
    await this.repository.insert(tx, delivery);
    await this.audit.record(tx, caller, action, resourceOf(webhook), { deliveryId: id, event: eventType, eventId });
    tx.afterCommit(() => this.sweeper.wake());
    return { message, delivery: { id, webhookId: webhook.id, status: 'pending', event: eventType, attempt: 0 } };
  }
}
