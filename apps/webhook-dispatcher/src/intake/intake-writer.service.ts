import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, UnavailableError } from '@rmm/service-kit';
import { ArrayQueue } from '../sending/array-queue.js';
import { BacklogService } from '../sending/backlog.service.js';
import { InstanceLeaseService } from '../sending/instance-lease.service.js';
import type { LeasedDelivery } from '../sending/leased-delivery.types.js';
import { retryForever } from '../sending/retry-forever.js';
import { SenderService } from '../sending/sender.service.js';
import { ReplicaSignalsService } from '../sending/shards/replica-signals.service.js';
import { ShardOwnershipService } from '../sending/shards/shard-ownership.service.js';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import { deliveryIdOf } from './delivery-id.js';
import { type IntakeDelivery, type IntakeEvent, IntakeRepository } from './intake.repository.js';

/** About how many deliveries one statement inserts, which takes some ten milliseconds. */
const SET_ROWS = 500;
/** The events of an organization with this many queued deliveries wait. */
const MAX_QUEUED = 3_000;
/** With this many waiting events, they are written and wait in the table. */
const CROWDED_EVENTS = 3_000;
const POLL_MS = 20;

/** The properties of a webhook that its deliveries need. */
export type Subscriber = Pick<Subscription, 'webhookId' | 'partnerId' | 'orgId' | 'shard' | 'retryPolicy'>;

/** An event that waits with the webhooks that receive it; its deliveries are created when it is written. */
interface WaitingEvent {
  event: IntakeEvent;
  subscribers: readonly Subscriber[];
  done: () => void;
  failed: (error: unknown) => void;
}

/**
 * Writes the deliveries of events in round-robin order of organizations, so that one that publishes thousands at once
 * does not delay the others of the same stream.
 */
@Injectable()
export class IntakeWriterService {
  /** By organization; the first one is next. */
  private readonly queues = new Map<string, ArrayQueue<WaitingEvent>>();
  private events = 0;
  private running = false;
  private isStopped = false;

  constructor(
    private readonly repository: IntakeRepository,
    private readonly lease: InstanceLeaseService,
    private readonly shards: ShardOwnershipService,
    private readonly replicas: ReplicaSignalsService,
    private readonly backlog: BacklogService,
    private readonly sender: SenderService,
    private readonly logger: Logger,
  ) {}

  /**
   * Resolves when the deliveries of an event are stored and queued.
   * @param subscribers  webhooks of one organization, at least one
   * @throws UnavailableError  when the process ends before; DatabaseError when this event cannot be stored
   */
  write(event: IntakeEvent, subscribers: readonly Subscriber[]): Promise<void> {
    if (this.isStopped) return Promise.reject(stopping());
    return new Promise((done, failed) => {
      const orgId = subscribers[0]?.orgId ?? '';
      const queue = this.queues.get(orgId) ?? new ArrayQueue<WaitingEvent>();
      queue.push({ event, subscribers, done, failed });
      this.queues.set(orgId, queue);
      this.events += 1;
      if (!this.running) void this.run();
    });
  }

  /** Repeats work until the database is available. @throws UnavailableError  when the process stops before */
  whenAvailable<T>(work: () => Promise<T>): Promise<T> {
    return retryForever(work, (err) => {
      if (this.isStopped || !(err instanceof UnavailableError)) throw err;
      this.logger.warn({ err }, 'database unavailable; events wait and are retried');
    });
  }

  /** Rejects the events that are not being written, so that they are redelivered to other replicas. */
  stop(): void {
    this.isStopped = true;
    for (const queue of this.queues.values()) for (const { failed } of queue.takeAfter(0)) failed(stopping());
    this.queues.clear();
    this.events = 0;
  }

  private async run(): Promise<void> {
    this.running = true;
    // Events added in the same tick join the first set.
    await Promise.resolve();
    while (this.events > 0) {
      await this.sender.waitForRoom();
      const set = this.nextSet();
      if (set.length > 0) await this.writeSet(set);
      else await sleep(POLL_MS);
    }
    this.running = false;
  }

  private nextSet(): WaitingEvent[] {
    const set: WaitingEvent[] = [];
    const isCrowded = this.events > CROWDED_EVENTS;
    let rows = 0;
    for (let passedOver = 0; rows < SET_ROWS && passedOver < this.queues.size;) {
      const [orgId, queue] = this.queues.entries().next().value as [string, ArrayQueue<WaitingEvent>];
      this.queues.delete(orgId);
      const waiting = isCrowded || this.canWrite(orgId) ? queue.shift() : undefined;
      if (queue.size > 0) this.queues.set(orgId, queue);
      if (waiting) {
        set.push(waiting);
        rows += waiting.subscribers.length;
        this.events -= 1;
        passedOver = 0;
      } else {
        passedOver += 1;
      }
    }
    return set;
  }

  private canWrite(orgId: string): boolean {
    return this.backlog.isInBacklog(orgId) || this.hasRoom(orgId);
  }

  private hasRoom(orgId: string): boolean {
    return this.sender.countQueued(orgId) < MAX_QUEUED;
  }

  private async writeSet(set: readonly WaitingEvent[]): Promise<void> {
    try {
      await this.whenAvailable(() => this.store(set));
      for (const { done } of set) done();
    } catch (error) {
      if (error instanceof UnavailableError) for (const { failed } of set) failed(error);
      else await this.writeOneByOne(set, error);
    }
  }

  /** Writes the events one by one, so that an event the database refuses does not fail the others. */
  private async writeOneByOne(set: readonly WaitingEvent[], error: unknown): Promise<void> {
    if (set.length === 1) return set[0]?.failed(error);
    for (const one of set) await this.writeSet([one]);
  }

  private async store(set: readonly WaitingEvent[]): Promise<void> {
    const deliveries = set.flatMap(({ event, subscribers }) =>
      subscribers.map((one) => this.createDelivery(event, one)),
    );
    const inserted = await this.repository.insert(deliveries);
    const leased: LeasedDelivery[] = [];
    let isForOthers = false;
    for (const { id, webhookId, orgId, owner, event } of deliveries) {
      if (!inserted.delete(id)) continue; // an event that is in the set twice is sent once
      if (owner === null) isForOthers = true;
      else if (owner === orgId) this.backlog.add(orgId);
      else leased.push(toLeasedDelivery(event, { id, webhookId, orgId, owner }));
    }
    if (isForOthers) this.replicas.publishDeliveriesDue();
    this.sender.send(leased);
  }

  /** Leases the delivery to this instance when it owns the shard and has room; otherwise it waits in the table. */
  private createDelivery(
    event: IntakeEvent,
    { webhookId, partnerId, orgId, shard, retryPolicy }: Subscriber,
  ): IntakeDelivery {
    const sender = this.shards.owns(shard) ? this.lease.owner : null;
    return {
      id: deliveryIdOf(event.eventId, webhookId),
      webhookId,
      partnerId,
      orgId,
      maxAttempts: retryPolicy.maxRetries + 1,
      shard,
      owner: this.isFull(orgId) ? orgId : sender,
      event,
    };
  }

  private isFull(orgId: string): boolean {
    return this.backlog.isInBacklog(orgId) || !this.hasRoom(orgId);
  }
}

const stopping = () => new UnavailableError('The process is stopping');

/** Copies field by field, since spreading the objects is a third of the cost of the intake of a delivery. */
const toLeasedDelivery = (
  { eventId, eventType, createdAt, body }: IntakeEvent,
  { id, webhookId, orgId, owner }: Pick<LeasedDelivery, 'id' | 'webhookId' | 'orgId' | 'owner'>,
): LeasedDelivery => ({ id, createdAt, webhookId, orgId, eventId, eventType, body, attempt: 0, owner });
