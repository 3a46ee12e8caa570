import { Injectable } from '@nestjs/common';
import { Logger, UnavailableError } from '@rmm/service-kit';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { ArrayQueue } from '../sending/array-queue.js';
import type { EventInProgress, QueuedDelivery } from '../sending/delivery.types.js';
import { OutcomeBatcherService } from '../sending/outcome-batcher.service.js';
import { retryForever } from '../sending/retry-forever.js';
import { RetrySchedulerService } from '../sending/retry-scheduler.service.js';
import { SenderService } from '../sending/sender.service.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import type { Subscriber } from '../subscriptions/subscription.mapper.js';
import { deliveryIdOf } from './delivery-id.js';
import type { EventResult, IncomingEvent } from './incoming-event.js';
import { KnownDeliveriesRepository } from './known-deliveries.repository.js';

/** Time after the arrival of an event after which its deliveries that have not ended become open rows. */
const STORE_AFTER_MS = 200;
const TICK_MS = 25;
/** Deliveries and bytes that may be on their way without a row: about what is sent within `STORE_AFTER_MS`. */
const MAX_UNSTORED = 1_000;
const MAX_UNSTORED_BYTES = 16 * 1_048_576;
/** Events and bytes that may wait for their turn; beyond them the longest queue is written to the table. */
const MAX_WAITING = 5_000;
const MAX_WAITING_BYTES = 24 * 1_048_576;
/** The last events whose repetition is recognized without a look at the table. */
const RECENT_EVENTS = 50_000;

interface WaitingEvent {
  event: IncomingEvent;
  settle: (result: EventResult) => void;
}

/**
 * Turns the events of the partitions of this replica into deliveries, in round-robin order of organizations, and
 * resolves when all deliveries of an event are stored. A delivery that ends within 200 ms is stored with its final state;
 * one that takes longer, or has no room in memory, becomes an open row.
 * Eight dependencies: here the index, partitions, sending and the table meet.
 */
@Injectable()
export class FanOutWriterService {
  /** By organization; the first one is next. */
  private readonly queues = new Map<string, ArrayQueue<WaitingEvent>>();
  private waiting = 0;
  private waitingBytes = 0;
  private unstored = 0;
  private unstoredBytes = 0;
  private readonly started = new ArrayQueue<{ startedMs: number; deliveries: QueuedDelivery[] }>();
  /** The creation times of recent events. */
  private readonly recent = new Map<string, Date>();
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(
    private readonly index: SubscriptionIndexService,
    private readonly leases: PartitionLeaseManagerService,
    private readonly known: KnownDeliveriesRepository,
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
    return new Promise((settle) => {
      const queue = this.queues.get(event.orgId) ?? new ArrayQueue<WaitingEvent>();
      queue.push({ event, settle });
      this.queues.set(event.orgId, queue);
      this.waiting += 1;
      this.waitingBytes += event.body.length;
      this.run();
    });
  }

  /** Refuses the waiting events of partitions that another replica gets. */
  drop(partitions: ReadonlySet<number>): void {
    for (const [orgId, queue] of this.queues) {
      const first = queue.peek();
      if (!first || !partitions.has(first.event.partition)) continue;
      for (const { event, settle } of queue.takeAfter(0)) {
        this.waiting -= 1;
        this.waitingBytes -= event.body.length;
        settle('refused');
      }
      this.queues.delete(orgId);
    }
  }

  /** Refuses what waits; what has started is stored first. */
  stop(): void {
    this.isStopped = true;
    clearInterval(this.timer);
    this.storeLate(Infinity);
    for (const queue of this.queues.values()) for (const { settle } of queue.takeAfter(0)) settle('refused');
    this.queues.clear();
  }

  private run(): void {
    while (this.waiting > 0 && !this.isFull) {
      const [orgId, queue] = this.queues.entries().next().value as [string, ArrayQueue<WaitingEvent>];
      this.queues.delete(orgId);
      this.startNext(orgId, queue, false);
    }
    while (this.waiting > MAX_WAITING || this.waitingBytes > MAX_WAITING_BYTES) {
      if (this.outcomes.isFull) return;
      const [orgId, queue] = this.longestQueue();
      this.startNext(orgId, queue, true);
    }
  }

  private get isFull(): boolean {
    return this.unstored >= MAX_UNSTORED || this.unstoredBytes >= MAX_UNSTORED_BYTES || this.outcomes.isFull;
  }

  private longestQueue(): [string, ArrayQueue<WaitingEvent>] {
    let longest: [string, ArrayQueue<WaitingEvent>] | undefined;
    for (const entry of this.queues) if (!longest || entry[1].size > longest[1].size) longest = entry;
    return longest as [string, ArrayQueue<WaitingEvent>];
  }

  private startNext(orgId: string, queue: ArrayQueue<WaitingEvent>, isToTable: boolean): void {
    const { event, settle } = queue.shift() as WaitingEvent;
    if (queue.size > 0) this.queues.set(orgId, queue);
    else this.queues.delete(orgId);
    this.waiting -= 1;
    this.waitingBytes -= event.body.length;
    this.unstoredBytes += event.body.length;
    void this.startEvent(event, isToTable, (result) => {
      this.unstoredBytes -= event.body.length;
      settle(result);
      this.run();
    });
  }

  /** Never rejects. */
  private async startEvent(
    incoming: IncomingEvent,
    isToTable: boolean,
    settle: (result: EventResult) => void,
  ): Promise<void> {
    const firstCreatedAt = this.recordRecent(incoming);
    // An event that was published twice has the ids of its first deliveries, also with another time.
    const event = firstCreatedAt ? { ...incoming, createdAt: firstCreatedAt } : incoming;
    const subscribers = this.index.match(event.orgId, event.eventType);
    const isKnown = event.isRepeated || firstCreatedAt !== null;
    try {
      const deliveries = this.createDeliveries(event, subscribers, settle);
      const missing = isKnown ? await this.withoutStored(deliveries) : deliveries;
      if (missing.length === 0) return settle('stored');
      this.startDeliveries(missing, isToTable);
    } catch (err) {
      if (!(err instanceof UnavailableError))
        this.logger.error({ err, eventId: event.eventId }, 'event cannot be handled; it is delivered again');
      settle(err instanceof UnavailableError ? 'refused' : 'failed');
    }
  }

  private startDeliveries(deliveries: QueuedDelivery[], isToTable: boolean): void {
    (deliveries[0]?.event as PendingEvent).expect(deliveries.length);
    this.unstored += deliveries.length;
    for (const delivery of deliveries) {
      const isQueued = !isToTable && !this.retries.hasDue(delivery.webhookId) && this.sender.add(delivery);
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
    const { eventId, eventType, createdAt, body, orgId, partition } = event;
    const { partnerId } = first;
    const pending = new PendingEvent({ eventId, eventType, createdAt, partnerId, orgId, body }, settle, () => {
      this.unstored -= 1;
    });
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
      isStored: false,
      hasOutcome: false,
      hasEnded: false,
    }));
  }

  private async withoutStored(deliveries: QueuedDelivery[]): Promise<QueuedDelivery[]> {
    const [first] = deliveries;
    if (!first) return [];
    // What is in memory is stored soon.
    const unknown = deliveries.filter((delivery) => !this.sender.isKnown(delivery));
    const ids = unknown.map(({ id }) => id);
    const find = () => this.known.find(ids, first.createdAt);
    const stored = await retryForever(find, (err) => {
      if (this.isStopped || !(err instanceof UnavailableError)) throw err;
    });
    return unknown.filter(({ id }) => !stored.has(id));
  }

  /** Records an event. @returns the creation time of its deliveries when it was recorded before; null otherwise */
  private recordRecent({ eventId, orgId, createdAt }: IncomingEvent): Date | null {
    const key = `${orgId}/${eventId}`;
    const known = this.recent.get(key);
    if (known) return known;
    this.recent.set(key, createdAt);
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
  readonly body: string;
  isBodyStored = false;
  private left = 0;
  private result: EventResult = 'stored';

  constructor(
    event: Pick<EventInProgress, 'eventId' | 'eventType' | 'createdAt' | 'partnerId' | 'orgId' | 'body'>,
    private readonly settle: (result: EventResult) => void,
    private readonly onDone: () => void,
  ) {
    this.eventId = event.eventId;
    this.eventType = event.eventType;
    this.createdAt = event.createdAt;
    this.partnerId = event.partnerId;
    this.orgId = event.orgId;
    this.body = event.body;
  }

  expect(deliveries: number): void {
    this.left = deliveries;
  }

  onStored(): void {
    this.onDone();
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
