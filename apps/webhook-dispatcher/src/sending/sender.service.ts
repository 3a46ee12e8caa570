import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { DispatcherConfig } from '../config.js';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { DeliveryAttemptsService } from './delivery-attempts.service.js';
import { BreakersService } from './breaker/breakers.service.js';
import { LeasedDeliveriesService } from './leased-deliveries.service.js';
import type { LeasedDelivery } from './leased-delivery.js';
import { InstanceLeaseService } from './instance-lease.service.js';
import { notActive } from './outcome.js';
import { OutcomeWriterService } from './outcome-writer.service.js';
import { type ReleasedDelivery, LeaseReleaseService } from './lease-release.service.js';
import { SHARDS, shardOf } from './shards/shard-of.js';
import { ShardOwnershipService } from './shards/shard-ownership.service.js';
import { FairScheduler } from './fair-scheduler.js';

/** Held and not yet begun: more than this is left in the database, in the stream or in Redis. */
const MAX_QUEUED = 30_000;
/** Of these, retries: an outage of many receivers ends in a storm of them, and events must find room meanwhile. */
const MAX_QUEUED_RETRIES = 10_000;
const ROOM_POLL_MS = 50;
/** Of the attempts an origin may get at a time, one webhook gets at most this much: 8 of 10. */
const WEBHOOK_SHARE = 0.8;
/** A webhook that cannot be opened goes nowhere: its attempts fail on the spot. */
const NO_ORIGIN = 'none';

/**
 * Sends what this process holds: a bounded number at a time, turn by turn, each outcome handed to the writer.
 */
@Injectable()
export class SenderService {
  private readonly slots: FairScheduler<LeasedDelivery>;
  private readonly inFlightByShard = new Int32Array(SHARDS);
  private whenIdle: () => void = () => undefined;
  private isStopped = false;

  constructor(
    private readonly attempts: DeliveryAttemptsService,
    private readonly index: SubscriptionIndexService,
    private readonly outcomes: OutcomeWriterService,
    private readonly shards: ShardOwnershipService,
    private readonly leaseReleases: LeaseReleaseService,
    private readonly breakers: BreakersService,
    private readonly lease: InstanceLeaseService,
    private readonly leased: LeasedDeliveriesService,
    private readonly logger: Logger,
    config: DispatcherConfig,
    metrics: DispatcherMetrics,
  ) {
    const limits = {
      total: config.workerConcurrency,
      perWebhook: Math.max(1, Math.floor(config.originConcurrency * WEBHOOK_SHARE)),
      perOrigin: config.originConcurrency,
      perOrganization: config.organizationConcurrency,
    };
    this.slots = new FairScheduler(limits, (delivery, origin, done) => this.begin(delivery, origin, done), {
      mayBegin: () => !this.isStopped && this.lease.mayBegin,
      limitOf: (origin) => this.breakers.limitOf(origin),
    });
    breakers.listen((origin, limit) => this.slots.limitOrigin(origin, limit));
    metrics.observeQueue({
      queued: () => this.slots.queued,
      inFlight: () => this.slots.active,
      subscriptions: () => index.size,
      openBreakers: () => breakers.open,
      shards: () => shards.count,
    });
  }

  get queued(): number {
    return this.slots.queued;
  }

  /** How many more deliveries may be taken on now. */
  get room(): number {
    return this.isStopped || this.outcomes.isFull ? 0 : Math.max(0, MAX_QUEUED - this.slots.queued);
  }

  /** The same for what may be a retry. */
  get roomForRetries(): number {
    return Math.min(this.room, Math.max(0, MAX_QUEUED_RETRIES - this.slots.queuedRetries));
  }

  /** Ends when there is room for more, or no more is taken at all: the back-pressure of all that feeds the sender. */
  waitForRoom(): Promise<void> {
    return this.waitFor(() => this.room);
  }

  /** The same for retries. */
  waitForRoomForRetries(): Promise<void> {
    return this.waitFor(() => this.roomForRetries);
  }

  /** Who waits here, for the parking alone: it counts what has ended between two looks. */
  organizations(): Iterable<{ orgId: string; queued: number; ended: number }> {
    return this.slots.organizations();
  }

  queuedOf(orgId: string): number {
    return this.slots.queuedOf(orgId);
  }

  /** Takes the newest of an organization that have not begun; the caller gives them back. */
  shorten(orgId: string, kept: number): LeasedDelivery[] {
    return this.slots.shorten(orgId, kept);
  }

  /**
   * @param deliveries  held by this process; those for the origins of others are handed on. After `stop` they are left
   *   to whoever claims them next
   */
  send(deliveries: readonly LeasedDelivery[]): void {
    if (this.isStopped) return;
    const elsewhere: ReleasedDelivery[] = [];
    for (const delivery of deliveries) {
      this.leased.add(delivery);
      const subscription = this.index.find(delivery.webhookId);
      if (subscription) {
        const { origin, shard } = subscription;
        if (this.shards.owns(shard)) this.slots.add(delivery, origin, delivery.attempt > 0);
        else elsewhere.push({ delivery, shard, isInBacklog: false });
      } else if (this.index.isBroken(delivery.webhookId)) {
        this.slots.add(delivery, NO_ORIGIN, delivery.attempt > 0);
      } else {
        this.outcomes.add(notActive(delivery));
      }
    }
    if (elsewhere.length > 0) void this.leaseReleases.add(elsewhere);
  }

  /** What was claimed just now, by the webhooks as they are now. */
  async sendClaimed(deliveries: readonly LeasedDelivery[]): Promise<void> {
    if (deliveries.length > 0) await this.index.refresh();
    this.send(deliveries);
  }

  /** Since the start. */
  get begunRetries(): number {
    return this.slots.begunRetries;
  }

  /** So many more retries may begin, until this is called again. */
  allowRetries(count: number): void {
    this.slots.allowRetries(count);
  }

  /** Forgets what has not begun: others hold it now. */
  dropQueued(): void {
    for (const delivery of this.slots.clear()) this.leased.delete(delivery);
  }

  /** What may begin has changed. */
  resume(): void {
    this.slots.resume();
  }

  /** Attempts under way to the origins of a shard. */
  inFlight(shard: number): number {
    return this.inFlightByShard[shard] ?? 0;
  }

  /** Hands back what has not begun for the origins of some shards. */
  leave(shards: ReadonlySet<number>): Promise<void> {
    const concerns = (origin: string) => shards.has(shardOf(origin));
    this.breakers.forget(concerns);
    const taken = this.slots.clear((origin) => origin !== NO_ORIGIN && concerns(origin));
    return this.leaseReleases.add(
      taken.map((delivery) => ({ delivery, shard: shardOfNow(this.index, delivery), isInBacklog: false })),
    );
  }

  /** Takes and begins no more, and ends when every attempt in flight has ended or the time is up. */
  async stop(timeoutMs: number): Promise<void> {
    this.isStopped = true;
    const timeUp = sleep(timeoutMs, undefined, { ref: false });
    const ended = new Promise<void>((resolve) => {
      this.whenIdle = resolve;
      if (this.slots.active === 0) resolve();
    });
    await Promise.race([ended, timeUp]);
  }

  private async waitFor(room: () => number): Promise<void> {
    while (room() === 0 && !this.isStopped) await sleep(ROOM_POLL_MS, undefined, { ref: false });
  }

  private begin(delivery: LeasedDelivery, origin: string, done: () => void): void {
    const subscription = this.index.find(delivery.webhookId);
    if (subscription && subscription.origin !== origin) {
      // Re-pointed while it waited: its place is in another queue, or in another process.
      queueMicrotask(() => this.end(done));
      return this.send([delivery]);
    }
    const shard = subscription?.shard ?? -1;
    if (shard >= 0) this.inFlightByShard[shard] += 1;
    void this.attempt(delivery, origin, shard, done);
  }

  /** Never throws. */
  private async attempt(delivery: LeasedDelivery, origin: string, shard: number, done: () => void): Promise<void> {
    try {
      this.outcomes.add(await this.attempts.make(delivery));
    } catch (err) {
      // The look for strays gives it back.
      this.leased.delete(delivery);
      this.logger.error({ err, deliveryId: delivery.id }, 'An attempt broke off');
    }
    // An origin that gives no connection is asked at a pace; nobody else waits for its slot.
    const pauseMs = this.breakers.pauseMs(origin);
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
    if (shard >= 0) this.inFlightByShard[shard] -= 1;
    this.end(done);
  }

  private end(done: () => void): void {
    done();
    if (this.slots.active === 0) this.whenIdle();
  }
}

const shardOfNow = (index: SubscriptionIndexService, { webhookId }: LeasedDelivery): number | null =>
  index.find(webhookId)?.shard ?? null;
