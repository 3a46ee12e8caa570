import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Logger, UnavailableError } from '@rmm/service-kit';
import { ArrayQueue } from '../sending/array-queue.js';
import type { LeasedDelivery } from '../sending/leased-delivery.js';
import { InstanceLeaseService } from '../sending/instance-lease.service.js';
import { retryForever } from '../sending/retry-forever.js';
import { BacklogService } from '../sending/backlog.service.js';
import { SenderService } from '../sending/sender.service.js';
import { ReplicaSignalsService } from '../sending/shards/replica-signals.service.js';
import { ShardOwnershipService } from '../sending/shards/shard-ownership.service.js';
import type { Subscription } from '../subscriptions/subscription.js';
import { deliveryIdOf } from './delivery-id.js';
import { type IntakeDelivery, type IntakeEvent, IntakeRepository } from './intake.repository.js';

/** Deliveries of a statement, about: it takes some ten milliseconds, which those behind it wait. */
const SET_ROWS = 500;
/** An organization with so many in the sender's queue leaves its next events in the stream for a while. */
const MAX_QUEUED = 3_000;
/** Unless so many events wait here: then they are written, and wait in the table. */
const CROWDED_EVENTS = 3_000;
const LOOK_MS = 20;

/** What the deliveries to a webhook are made of. */
export type Subscriber = Pick<Subscription, 'webhookId' | 'partnerId' | 'orgId' | 'shard' | 'retryPolicy'>;

/** An event, and who gets it. Its deliveries are made when it is written: thousands of events may wait. */
interface Waiting {
  event: IntakeEvent;
  subscribers: readonly Subscriber[];
  done: () => void;
  failed: (error: unknown) => void;
}

/**
 * Writes the deliveries of events, organization by organization in turns: one that publishes thousands at once stands
 * in nobody's way, although all come through one stream.
 */
@Injectable()
export class IntakeWriterService {
  /** By organization. The first is next. */
  private readonly queues = new Map<string, ArrayQueue<Waiting>>();
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
   * Ends when the deliveries of an event stand in the table and are on their way.
   * @param subscribers  all of one organization, at least one
   * @throws UnavailableError  when the process ends before; DatabaseError when this event cannot be stored
   */
  write(event: IntakeEvent, subscribers: readonly Subscriber[]): Promise<void> {
    if (this.isStopped) return Promise.reject(stopping());
    return new Promise((done, failed) => {
      const orgId = subscribers[0]?.orgId ?? '';
      const queue = this.queues.get(orgId) ?? new ArrayQueue<Waiting>();
      queue.push({ event, subscribers, done, failed });
      this.queues.set(orgId, queue);
      this.events += 1;
      if (!this.running) void this.run();
    });
  }

  /** Does what needs the database, as soon as it can be used. @throws UnavailableError  when the process ends before */
  whenAvailable<T>(work: () => Promise<T>): Promise<T> {
    return retryForever(work, (err) => {
      if (this.isStopped || !(err instanceof UnavailableError)) throw err;
      this.logger.warn({ err }, 'Events wait: the database cannot be used');
    });
  }

  /** What is not being written yet is left to others. */
  stop(): void {
    this.isStopped = true;
    for (const queue of this.queues.values()) for (const { failed } of queue.takeBehind(0)) failed(stopping());
    this.queues.clear();
    this.events = 0;
  }

  private async run(): Promise<void> {
    this.running = true;
    // What comes in the same turn goes along.
    await Promise.resolve();
    while (this.events > 0) {
      await this.sender.waitForRoom();
      const set = this.nextSet();
      if (set.length > 0) await this.writeSet(set);
      else await sleep(LOOK_MS);
    }
    this.running = false;
  }

  private nextSet(): Waiting[] {
    const set: Waiting[] = [];
    const isCrowded = this.events > CROWDED_EVENTS;
    let rows = 0;
    for (let passedOver = 0; rows < SET_ROWS && passedOver < this.queues.size;) {
      const [orgId, queue] = this.queues.entries().next().value as [string, ArrayQueue<Waiting>];
      this.queues.delete(orgId);
      const waiting = isCrowded || this.mayQueue(orgId) ? queue.shift() : undefined;
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

  private mayQueue(orgId: string): boolean {
    return this.backlog.isInBacklog(orgId) || this.hasRoom(orgId);
  }

  private hasRoom(orgId: string): boolean {
    return this.sender.queuedOf(orgId) < MAX_QUEUED;
  }

  private async writeSet(set: readonly Waiting[]): Promise<void> {
    try {
      await this.whenAvailable(() => this.store(set));
      for (const { done } of set) done();
    } catch (error) {
      if (error instanceof UnavailableError) for (const { failed } of set) failed(error);
      else await this.writeOneByOne(set, error);
    }
  }

  /** One event the database will not take must not hold up the others. */
  private async writeOneByOne(set: readonly Waiting[], error: unknown): Promise<void> {
    if (set.length === 1) return set[0]?.failed(error);
    for (const one of set) await this.writeSet([one]);
  }

  private async store(set: readonly Waiting[]): Promise<void> {
    const deliveries = set.flatMap(({ event, subscribers }) => subscribers.map((one) => this.deliveryOf(event, one)));
    const made = await this.repository.insert(deliveries);
    const held: LeasedDelivery[] = [];
    let isForOthers = false;
    for (const { id, webhookId, orgId, owner, event } of deliveries) {
      if (!made.delete(id)) continue; // an event that stands twice in the set is sent once
      if (owner === null) isForOthers = true;
      else if (owner === orgId) this.backlog.park(orgId);
      else held.push(heldOf(event, { id, webhookId, orgId, owner }));
    }
    if (isForOthers) this.replicas.due();
    this.sender.send(held);
  }

  /** Held by this process, when it may send it and has room for it; else it waits in the table for who may. */
  private deliveryOf(
    event: IntakeEvent,
    { webhookId, partnerId, orgId, shard, retryPolicy }: Subscriber,
  ): IntakeDelivery {
    const holder = this.shards.owns(shard) ? this.lease.owner : null;
    return {
      id: deliveryIdOf(event.eventId, webhookId),
      webhookId,
      partnerId,
      orgId,
      maxAttempts: retryPolicy.maxRetries + 1,
      shard,
      owner: this.isFull(orgId) ? orgId : holder,
      event,
    };
  }

  private isFull(orgId: string): boolean {
    return this.backlog.isInBacklog(orgId) || !this.hasRoom(orgId);
  }
}

const stopping = () => new UnavailableError('The process ends');

/** Field by field: spread out, it is a third of what the intake of a delivery costs. */
const heldOf = (
  { eventId, eventType, createdAt, body }: IntakeEvent,
  { id, webhookId, orgId, owner }: Pick<LeasedDelivery, 'id' | 'webhookId' | 'orgId' | 'owner'>,
): LeasedDelivery => ({ id, createdAt, webhookId, orgId, eventId, eventType, body, attempt: 0, owner });
