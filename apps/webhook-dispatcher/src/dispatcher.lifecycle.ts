import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Outbound } from '@rmm/outbound';
import { FLEET_CONFIG, type FleetConfig } from '@rmm/service-kit';
import { DeliveryRetentionService } from './deliveries/delivery-retention.service.js';
import { EventIntakeConsumer } from './intake/event-intake.consumer.js';
import { BacklogService } from './sending/backlog.service.js';
import { InstanceLeaseService } from './sending/instance-lease.service.js';
import { LeaseReleaseService } from './sending/lease-release.service.js';
import { OutcomeWriterService } from './sending/outcome-writer.service.js';
import { RetryPacingService } from './sending/retry-pacing.service.js';
import { RetrySchedulingService } from './sending/retry-scheduling.service.js';
import { SenderService } from './sending/sender.service.js';
import { ReplicaSignalsService } from './sending/shards/replica-signals.service.js';
import { ShardOwnershipService } from './sending/shards/shard-ownership.service.js';
import { SweeperService } from './sending/sweeper.service.js';
import { SubscriptionFeedConsumer } from './subscriptions/subscription-feed.consumer.js';

/** The share of the grace period that attempts in flight may use; the rest is for outcomes and lease releases. */
const DRAIN_SHARE = 0.6;
const CLOSE_MS = 1_000;

/** Starts and stops the parts in the order that loses nothing; it depends on every part that is started. */
@Injectable()
export class DispatcherLifecycle implements OnApplicationBootstrap, OnModuleDestroy {
  private isRunning = false;

  constructor(
    @Inject(FLEET_CONFIG) private readonly fleet: FleetConfig,
    private readonly retention: DeliveryRetentionService,
    private readonly feed: SubscriptionFeedConsumer,
    private readonly lease: InstanceLeaseService,
    private readonly retries: RetrySchedulingService,
    private readonly pace: RetryPacingService,
    private readonly sweeper: SweeperService,
    private readonly intake: EventIntakeConsumer,
    private readonly sender: SenderService,
    private readonly outcomes: OutcomeWriterService,
    private readonly outbound: Outbound,
    private readonly shards: ShardOwnershipService,
    private readonly replicas: ReplicaSignalsService,
    private readonly backlog: BacklogService,
    private readonly leaseReleases: LeaseReleaseService,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.retention.apply();
    await this.feed.start();
    await this.lease.start({
      onExpired: () => {
        this.shards.dropAll();
        this.sender.dropQueued();
      },
      onRenewed: () => {
        this.shards.refresh();
        this.sender.resume();
      },
    });
    this.retries.start();
    this.replicas.subscribe({
      onShardsChanged: () => this.shards.refresh(),
      onDeliveriesDue: () => this.sweeper.wakeForAll(),
    });
    await this.shards.start({
      onAcquired: () => this.sweeper.wakeForAll(),
      releaseDeliveries: (shards) => this.sender.releaseShards(shards),
      countInFlight: (shard) => this.sender.countInFlight(shard),
    });
    this.pace.start();
    this.sweeper.start();
    this.backlog.start();
    this.intake.start();
    this.isRunning = true;
  }

  /** Runs while database, Redis and NATS are connected: stops intake, drains attempts in flight, releases the rest. */
  async onModuleDestroy(): Promise<void> {
    if (!this.isRunning) return;
    this.isRunning = false;
    this.pace.stop();
    const drainMs = this.fleet.shutdownGraceSeconds * 1_000 * DRAIN_SHARE;
    await this.lease.announceShutdown().catch(() => undefined); // without it the others wait for the release
    const drained = this.sender.stop(drainMs);
    // Concurrently, since a batch that waits for room in the sender resolves only when the sender stops.
    await Promise.all([
      drained,
      this.shards.stop(drained),
      this.intake.stop(),
      this.retries.stopProcessing(),
      this.sweeper.stop(),
      this.backlog.stop(),
    ]);
    await this.outcomes.flush();
    await this.leaseReleases.flush();
    await this.lease.release(this.shards.listBusy());
    this.replicas.publishShardsChanged();
    await this.retries.close();
    await Promise.race([this.outbound.close(), sleep(CLOSE_MS, undefined, { ref: false })]);
  }
}
