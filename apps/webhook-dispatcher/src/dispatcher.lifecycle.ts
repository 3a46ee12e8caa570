import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Outbound } from '@rmm/outbound';
import { FLEET_CONFIG, type FleetConfig } from '@rmm/service-kit';
import { DeliveryRetentionService } from './deliveries/delivery-retention.service.js';
import { EventIntakeConsumer } from './intake/event-intake.consumer.js';
import { InstanceLeaseService } from './sending/instance-lease.service.js';
import { OutcomeWriterService } from './sending/outcome-writer.service.js';
import { BacklogService } from './sending/backlog.service.js';
import { RetrySchedulingService } from './sending/retry-scheduling.service.js';
import { RetryPacingService } from './sending/retry-pacing.service.js';
import { LeaseReleaseService } from './sending/lease-release.service.js';
import { SenderService } from './sending/sender.service.js';
import { ReplicaSignalsService } from './sending/shards/replica-signals.service.js';
import { ShardOwnershipService } from './sending/shards/shard-ownership.service.js';
import { SweeperService } from './sending/sweeper.service.js';
import { SubscriptionFeedConsumer } from './subscriptions/subscription-feed.consumer.js';

/** The part of the grace time that attempts in flight may use; the rest is for writing and handing back. */
const DRAIN_SHARE = 0.6;
const CLOSE_MS = 1_000;

/** Starts and stops the parts in the order that loses nothing. */
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
    await this.retention.start();
    await this.feed.start();
    await this.lease.start({
      lost: () => {
        this.shards.forget();
        this.sender.dropQueued();
      },
      renewed: () => {
        this.shards.refresh();
        this.sender.resume();
      },
    });
    this.retries.start();
    this.replicas.listen({ shardsChanged: () => this.shards.refresh(), due: () => this.sweeper.wakeForAll() });
    await this.shards.start({
      taken: () => this.sweeper.wakeForAll(),
      leave: (shards) => this.sender.leave(shards),
      inFlight: (shard) => this.sender.inFlight(shard),
    });
    this.pace.start();
    this.sweeper.start();
    this.backlog.start();
    this.intake.start();
    this.isRunning = true;
  }

  /** Database, Redis and NATS are still there: nothing new is taken, what is in flight ends, the rest is handed back. */
  async onModuleDestroy(): Promise<void> {
    if (!this.isRunning) return;
    this.isRunning = false;
    this.pace.stop();
    const drainMs = this.fleet.shutdownGraceSeconds * 1_000 * DRAIN_SHARE;
    await this.lease.leave().catch(() => undefined); // the others then wait for the release
    const drained = this.sender.stop(drainMs);
    // All at once: a batch that waits for room in the sender must not keep the sender from stopping.
    await Promise.all([
      drained,
      this.shards.stop(drained),
      this.intake.stop(),
      this.retries.stopTaking(),
      this.sweeper.stop(),
      this.backlog.stop(),
    ]);
    await this.outcomes.flush();
    await this.leaseReleases.flush();
    await this.lease.release(this.shards.busy());
    this.replicas.shardsChanged();
    await this.retries.close();
    await Promise.race([this.outbound.close(), sleep(CLOSE_MS, undefined, { ref: false })]);
  }
}
