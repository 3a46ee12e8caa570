import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@rmm/service-kit';
import { DispatcherConfig } from '../config.js';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { BreakersService } from './breaker/breakers.service.js';
import { DeliveryAttemptsService } from './delivery-attempts.service.js';
import { FairScheduler } from './fair-scheduler.js';
import { InstanceLeaseService } from './instance-lease.service.js';
import { type ReleasedDelivery, LeaseReleaseService } from './lease-release.service.js';
import { LeasedDeliveriesService } from './leased-deliveries.service.js';
import type { LeasedDelivery } from './leased-delivery.types.js';
import { OutcomeWriterService } from './outcome-writer.service.js';
import { createInactiveOutcome } from './outcome.js';
import { SHARDS, shardOf } from './shards/shard-of.js';
import { ShardOwnershipService } from './shards/shard-ownership.service.js';

/** Limits the queued deliveries; more remain in the database, the stream or Redis. */
const MAX_QUEUED = 30_000;
/** Limits the queued retries, so that events find room during a burst of retries after an outage of receivers. */
const MAX_QUEUED_RETRIES = 10_000;
const ROOM_POLL_MS = 50;
/** The share of an origin's concurrent attempts that one webhook may use. */
const WEBHOOK_SHARE = 0.8;
/** The origin of webhooks that cannot be opened, whose attempts fail without a request. */
const NO_ORIGIN = 'none';

/**
 * Sends the deliveries this replica leases: bounded, in fair order, and passes each outcome to the writer.
 * Eleven dependencies: sending is where index, limits, leases and outcomes meet.
 */
@Injectable()
export class SenderService {
  private readonly scheduler: FairScheduler<LeasedDelivery>;
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
    this.scheduler = new FairScheduler(limits, (delivery, origin, done) => this.startAttempt(delivery, origin, done), {
      canStart: () => !this.isStopped && this.lease.canStartAttempt,
      limitOf: (origin) => this.breakers.limitOf(origin),
    });
    breakers.subscribe((origin, limit) => this.scheduler.limitOrigin(origin, limit));
    metrics.observeQueue({
      queued: () => this.scheduler.queued,
      inFlight: () => this.scheduler.active,
      subscriptions: () => index.size,
      openBreakers: () => breakers.openBreakers,
      shards: () => shards.count,
    });
  }

  get queued(): number {
    return this.scheduler.queued;
  }

  /** The number of deliveries that may be queued now. */
  get room(): number {
    return this.isStopped || this.outcomes.isFull ? 0 : Math.max(0, MAX_QUEUED - this.scheduler.queued);
  }

  /** The number of retries that may be queued now. */
  get roomForRetries(): number {
    return Math.min(this.room, Math.max(0, MAX_QUEUED_RETRIES - this.scheduler.queuedRetries));
  }

  /** Resolves when there is room or the sender stops: the back-pressure of everything that feeds the sender. */
  waitForRoom(): Promise<void> {
    return this.waitFor(() => this.room);
  }

  /** Resolves when there is room for retries or the sender stops. */
  waitForRoomForRetries(): Promise<void> {
    return this.waitFor(() => this.roomForRetries);
  }

  /** Returns the organizations with deliveries and how many ended since the last call; for the backlog alone. */
  organizations(): Iterable<{ orgId: string; queued: number; ended: number }> {
    return this.scheduler.organizations();
  }

  countQueued(orgId: string): number {
    return this.scheduler.countQueued(orgId);
  }

  /** Removes and returns the newest queued deliveries of an organization; the caller releases their leases. */
  takeNewest(orgId: string, keep: number): LeasedDelivery[] {
    return this.scheduler.takeNewest(orgId, keep);
  }

  /**
   * Queues deliveries leased by this replica; those for origins of other replicas are released. Does nothing after
   * `stop`: the lease of the instance is released then.
   */
  send(deliveries: readonly LeasedDelivery[]): void {
    if (this.isStopped) return;
    const forOthers: ReleasedDelivery[] = [];
    for (const delivery of deliveries) {
      this.leased.add(delivery);
      const subscription = this.index.find(delivery.webhookId);
      if (subscription) {
        const { origin, shard } = subscription;
        if (this.shards.owns(shard)) this.scheduler.add(delivery, origin, delivery.attempt > 0);
        else forOthers.push({ delivery, shard, isInBacklog: false });
      } else if (this.index.isBroken(delivery.webhookId)) {
        this.scheduler.add(delivery, NO_ORIGIN, delivery.attempt > 0);
      } else {
        this.outcomes.add(createInactiveOutcome(delivery));
      }
    }
    if (forOthers.length > 0) void this.leaseReleases.add(forOthers);
  }

  /** Queues claimed deliveries after it has loaded changed webhooks. */
  async sendClaimed(deliveries: readonly LeasedDelivery[]): Promise<void> {
    if (deliveries.length > 0) await this.index.refresh();
    this.send(deliveries);
  }

  /** Retries started since the process started. */
  get startedRetries(): number {
    return this.scheduler.startedRetries;
  }

  /** Sets how many more retries may start until the next call. */
  allowRetries(count: number): void {
    this.scheduler.allowRetries(count);
  }

  /** Drops queued deliveries without a release, since other replicas lease them now. */
  dropQueued(): void {
    for (const delivery of this.scheduler.clear()) this.leased.delete(delivery);
  }

  /** Starts attempts again after the lease was renewed. */
  resume(): void {
    this.scheduler.resume();
  }

  /** Returns how many attempts to the origins of a shard are under way. */
  countInFlight(shard: number): number {
    return this.inFlightByShard[shard] ?? 0;
  }

  /** Releases the queued deliveries for the origins of shards. Resolves when that is stored. */
  releaseShards(shards: ReadonlySet<number>): Promise<void> {
    const isReleased = (origin: string) => shards.has(shardOf(origin));
    this.breakers.removeBreakers(isReleased);
    const taken = this.scheduler.clear((origin) => origin !== NO_ORIGIN && isReleased(origin));
    return this.leaseReleases.add(
      taken.map((delivery) => ({
        delivery,
        shard: this.index.find(delivery.webhookId)?.shard ?? null,
        isInBacklog: false,
      })),
    );
  }

  /** Starts no more attempts. Resolves when all attempts in flight have ended, or after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    this.isStopped = true;
    const timeUp = sleep(timeoutMs, undefined, { ref: false });
    const ended = new Promise<void>((resolve) => {
      this.whenIdle = resolve;
      if (this.scheduler.active === 0) resolve();
    });
    await Promise.race([ended, timeUp]);
  }

  private async waitFor(room: () => number): Promise<void> {
    while (room() === 0 && !this.isStopped) await sleep(ROOM_POLL_MS, undefined, { ref: false });
  }

  private startAttempt(delivery: LeasedDelivery, origin: string, done: () => void): void {
    const subscription = this.index.find(delivery.webhookId);
    if (subscription && subscription.origin !== origin) {
      // The URL changed while the delivery waited, so another queue or replica sends it.
      queueMicrotask(() => this.endAttempt(done));
      return this.send([delivery]);
    }
    const shard = subscription?.shard ?? -1;
    if (shard >= 0) this.inFlightByShard[shard] += 1;
    void this.attempt(delivery, origin, shard, done);
  }

  /** Never throws. */
  private async attempt(delivery: LeasedDelivery, origin: string, shard: number, done: () => void): Promise<void> {
    try {
      this.outcomes.add(await this.attempts.attempt(delivery));
    } catch (err) {
      // Its lease is then released as an orphaned one.
      this.leased.delete(delivery);
      this.logger.error(
        { err, deliveryId: delivery.id },
        'attempt failed unexpectedly; its orphaned lease is released and the delivery sent again',
      );
    }
    // The capacity of an origin with an open breaker is released after a pause; no other origin waits for it.
    const pauseMs = this.breakers.pauseMs(origin);
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
    if (shard >= 0) this.inFlightByShard[shard] -= 1;
    this.endAttempt(done);
  }

  private endAttempt(done: () => void): void {
    done();
    if (this.scheduler.active === 0) this.whenIdle();
  }
}
