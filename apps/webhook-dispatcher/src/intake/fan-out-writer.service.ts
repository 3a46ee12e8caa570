import { Injectable } from '@nestjs/common';
import { RoundRobinQueue, type WaitingItem } from '@rmm/messaging';
import { Logger, UnavailableError } from '@rmm/service-kit';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { ArrayQueue } from '../sending/array-queue.js';
import { OpenDeliveriesRepository } from '../sending/open-deliveries.repository.js';
import { OutcomeBatcherService } from '../sending/outcome-batcher.service.js';
import type { EventInProgress, QueuedDelivery } from '../sending/queued-delivery.js';
import { retryForever } from '../sending/retry-forever.js';
import { RetrySchedulerService } from '../sending/retry-scheduler.service.js';
import { SenderService } from '../sending/sender.service.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import type { Subscriber } from '../subscriptions/subscription.mapper.js';
import { deliveryIdOf, type EventResult, type IncomingEvent, recipientOf } from './webhook-event.mapper.js';

/** Time after the arrival of an event after which its deliveries that have not ended become open rows. */
const STORE_AFTER_MS = 200;
const TICK_MS = 25;
/**
 * Limits what is on its way without a row, in bytes of bodies and of deliveries: organizations share about 250
 * deliveries, which is what is sent within `STORE_AFTER_MS`.
 */
const UNSTORED = { total: 16 * 1_048_576, shared: 4 * 1_048_576 };
/** Bytes that a delivery counts in addition to its event's body: about what its attempt and its outcome allocate. */
const DELIVERY_BYTES = 16_384;
/** The last events whose repetition is recognized without a look at the table. */
const RECENT_EVENTS = 50_000;

interface WaitingEvent extends WaitingItem {
  readonly event: IncomingEvent;
  readonly settle: (result: EventResult) => void;
}

/**
 * Turns the events of the partitions of this replica into deliveries and resolves when all deliveries of an event are
 * stored. The order is round-robin by organization, in bytes, in which deliveries count as well. A delivery that ends within 200 ms is stored with its final state;
 * one that takes longer, or has no room in memory, becomes an open row.
 */
@Injectable()
export class FanOutWriterService {
  private readonly waiting = new RoundRobinQueue<WaitingEvent>(UNSTORED);
  private readonly started = new ArrayQueue<{ startedMs: number; deliveries: QueuedDelivery[] }>();
  /** The creation times of recent events, Unix milliseconds. */
  private readonly recent = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(
    private readonly index: SubscriptionIndexService,
    private readonly leases: PartitionLeaseManagerService,
    private readonly open: OpenDeliveriesRepository,
    private readonly sender: SenderService,
    private readonly outcomes: OutcomeBatcherService,
    private readonly retries: RetrySchedulerService,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.storeLate(), TICK_MS).unref();
  }

  /** Resolves with what became of an event of a partition of this replica. */
  accept(event: IncomingEvent): Promise<EventResult> {
    if (this.isStopped || !this.leases.owns(event.partition)) return Promise.resolve('refused');
    const deliveries = this.index.countSubscribers(recipientOf(event), event.eventType);
    const bytes = event.body.length + deliveries * DELIVERY_BYTES;
    return new Promise((settle) => {
      this.waiting.add({ key: recipientOf(event), bytes, event, settle });
      this.run();
    });
  }

  /** Refuses the waiting events of partitions that another replica gets. */
  drop(partitions: ReadonlySet<number>): void {
    const dropped = this.waiting.remove(({ event }) => partitions.has(event.partition));
    for (const { settle } of dropped) settle('refused');
  }

  /** Refuses what waits; what has started is stored first. */
  stop(): void {
    this.isStopped = true;
    clearInterval(this.timer);
    this.storeLate(Infinity);
    for (const { settle } of this.waiting.remove(() => true)) settle('refused');
  }

  private run(): void {
    while (!this.outcomes.isFull) {
      const next = this.waiting.takeNext();
      if (!next) return;
      void this.startEvent(next.event, (result) => {
        this.waiting.release(next);
        next.settle(result);
        this.run();
      });
    }
  }

  /** Never rejects. */
  private async startEvent(incoming: IncomingEvent, settle: (result: EventResult) => void): Promise<void> {
    const firstCreatedMs = this.recordRecent(incoming);
    // An event that was published twice has the ids of its first deliveries, also with another time.
    const event = firstCreatedMs === null ? incoming : { ...incoming, createdMs: firstCreatedMs };
    const subscribers = this.index.match(recipientOf(event), event.eventType);
    const isKnown = event.isRepeated || firstCreatedMs !== null;
    try {
      const deliveries = this.createDeliveries(event, subscribers, settle);
      const missing = isKnown ? await this.withoutStored(deliveries) : deliveries;
      if (missing.length === 0) return settle('stored');
      this.startDeliveries(missing);
    } catch (err) {
      if (!(err instanceof UnavailableError))
        this.logger.error({ err, eventId: event.eventId }, 'Event cannot be handled; it is delivered again');
      settle(err instanceof UnavailableError ? 'refused' : 'failed');
    }
  }

  private startDeliveries(deliveries: QueuedDelivery[]): void {
    (deliveries[0]?.event as PendingEvent).expect(deliveries.length);
    for (const delivery of deliveries) {
      const isQueued = !this.retries.mustWait(delivery) && this.sender.add(delivery);
      if (!isQueued) this.sender.store(delivery);
    }
    this.started.push({ startedMs: performance.now(), deliveries });
  }

  private createDeliveries(
    event: IncomingEvent,
    subscribers: readonly Subscriber[],
    settle: (result: EventResult) => void,
  ): QueuedDelivery[] {
    const [first] = subscribers;
    if (!first) return [];
    const { eventId, eventType, partition, traceparent } = event;
    const orgId = recipientOf(event);
    const eventOrgId = event.partnerId === undefined ? null : event.orgId;
    const body = Buffer.from(event.body);
    const createdAt = new Date(event.createdMs);
    const { partnerId } = first;
    const pending = new PendingEvent({ eventId, eventType, createdAt, partnerId, orgId, eventOrgId, body }, settle);
    return subscribers.map(({ webhookId, retryPolicy }) => ({
      id: deliveryIdOf(eventId, webhookId, createdAt),
      createdAt,
      webhookId,
      partnerId,
      orgId,
      partition,
      eventId,
      eventType,
      body,
      maxAttempts: retryPolicy.maxRetries + 1,
      attempt: 0,
      event: pending,
      traceparent,
      isStored: false,
      hasOutcome: false,
      state: 'table' as const,
    }));
  }

  private async withoutStored(deliveries: QueuedDelivery[]): Promise<QueuedDelivery[]> {
    const [first] = deliveries;
    if (!first) return [];
    // What is in memory is stored soon.
    const unknown = deliveries.filter((delivery) => !this.sender.isKnown(delivery));
    const ids = unknown.map(({ id }) => id);
    const find = () => this.open.findStored(ids, first.createdAt);
    const stored = await retryForever(find, (err) => {
      if (this.isStopped || !(err instanceof UnavailableError)) throw err;
    });
    return unknown.filter(({ id }) => !stored.has(id));
  }

  /** Records an event. @returns the creation time of its deliveries when it was recorded before; null otherwise */
  private recordRecent(event: IncomingEvent): number | null {
    const { eventId, createdMs } = event;
    const key = `${recipientOf(event)}/${eventId}`;
    const known = this.recent.get(key);
    if (known !== undefined) return known;
    this.recent.set(key, createdMs);
    if (this.recent.size > RECENT_EVENTS) this.recent.delete(this.recent.keys().next().value as string);
    return null;
  }

  /** Stores what has not ended in time. */
  private storeLate(untilMs = performance.now() - STORE_AFTER_MS): void {
    for (let first = this.started.peek(); first && first.startedMs <= untilMs; first = this.started.peek()) {
      this.started.shift();
      for (const delivery of first.deliveries) this.sender.store(delivery);
    }
    this.run();
  }
}

/** Counts the deliveries of an event that are not stored yet. */
class PendingEvent implements EventInProgress {
  readonly eventId: string;
  readonly eventType: string;
  readonly createdAt: Date;
  readonly partnerId: string;
  readonly orgId: string;
  readonly eventOrgId: string | null;
  readonly body: Buffer;
  isBodyStored = false;
  private left = 0;
  private result: EventResult = 'stored';

  constructor(
    event: Pick<EventInProgress, 'eventId' | 'eventType' | 'createdAt' | 'partnerId' | 'orgId' | 'eventOrgId' | 'body'>,
    private readonly settle: (result: EventResult) => void,
  ) {
    this.eventId = event.eventId;
    this.eventType = event.eventType;
    this.createdAt = event.createdAt;
    this.partnerId = event.partnerId;
    this.orgId = event.orgId;
    this.eventOrgId = event.eventOrgId;
    this.body = event.body;
  }

  expect(deliveries: number): void {
    this.left = deliveries;
  }

  onStored(): void {
    this.left -= 1;
    if (this.left === 0) this.settle(this.result);
  }

  onRefused(): void {
    if (this.result === 'stored') this.result = 'refused';
    this.onStored();
  }

  onFailed(): void {
    this.result = 'failed';
    this.onStored();
  }
}
