import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Outbound } from '@rmm/outbound';
import { FLEET_CONFIG, type FleetConfig, HealthRegistry } from '@rmm/service-kit';
import { FailDeadWebhooksJob } from './auto-fail/fail-dead-webhooks.job.js';
import { BackgroundJobsService } from './background/background-jobs.service.js';
import { DeliveryRetentionService } from './deliveries/delivery-retention.service.js';
import { EventIntakeConsumer } from './intake/event-intake.consumer.js';
import { FanOutWriterService } from './intake/fan-out-writer.service.js';
import { PartitionLeaseManagerService } from './replicas/partition-lease-manager.service.js';
import { partitionOf } from './replicas/partition-of.js';
import { ReplicaSignalsService } from './replicas/replica-signals.service.js';
import { OutcomeBatcherService } from './sending/outcome-batcher.service.js';
import { RetrySchedulerService } from './sending/retry-scheduler.service.js';
import { SenderService } from './sending/sender.service.js';
import { SubscriptionFeedConsumer } from './subscriptions/subscription-feed.consumer.js';
import { SubscriptionIndexService } from './subscriptions/subscription-index.service.js';

/** The part of the grace period that is left for outcomes when attempts in flight are cut, at most 40 % of it. */
const CLOSING_MS = 5_000;
const CLOSING_SHARE = 0.4;
const CLOSE_MS = 1_000;

/** Starts and stops the parts in the order that loses nothing; it depends on every part that is started. */
@Injectable()
export class DispatcherLifecycle implements OnApplicationBootstrap, OnModuleDestroy {
  private isRunning = false;
  private sendingStopped: Promise<void> | undefined;

  constructor(
    @Inject(FLEET_CONFIG) private readonly fleet: FleetConfig,
    private readonly retention: DeliveryRetentionService,
    private readonly feed: SubscriptionFeedConsumer,
    private readonly index: SubscriptionIndexService,
    private readonly leases: PartitionLeaseManagerService,
    private readonly signals: ReplicaSignalsService,
    private readonly sender: SenderService,
    private readonly retries: RetrySchedulerService,
    private readonly outcomes: OutcomeBatcherService,
    private readonly writer: FanOutWriterService,
    private readonly intake: EventIntakeConsumer,
    private readonly jobs: BackgroundJobsService,
    private readonly autoFail: FailDeadWebhooksJob,
    private readonly outbound: Outbound,
    private readonly health: HealthRegistry,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.retention.apply();
    await this.feed.start();
    await this.index.refreshTenants();
    this.jobs.start();
    this.sender.start(
      (webhookId, orgId, dueInMs) => this.retries.addWaiting(webhookId, orgId, dueInMs),
      () => this.autoFail.scheduleCheck(),
    );
    this.signals.onDeliveriesDue((webhookId) => {
      const orgId = this.index.find(webhookId)?.orgId;
      if (orgId === undefined) this.retries.search();
      else if (this.leases.owns(partitionOf(orgId))) this.retries.wake(webhookId, orgId);
    });
    this.retries.start();
    this.writer.start();
    await this.leases.start({
      onAcquired: (partitions) => this.retries.acquire(partitions),
      handOver: (partitions) => this.handOver(partitions),
      onLost: (partitions) => this.drop(partitions),
      onResumed: () => this.sender.resume(),
      onReplicasChanged: (count) => this.sender.shareLimits(count),
    });
    this.intake.start();
    this.isRunning = true;
    this.health.onDraining(() => void this.stopSending());
  }

  /** Runs while database, Redis and NATS are connected. */
  async onModuleDestroy(): Promise<void> {
    if (!this.isRunning) return;
    await this.stopSending();
    this.isRunning = false;
    await this.jobs.stop();
    await Promise.race([this.outbound.close(), sleep(CLOSE_MS, undefined, { ref: false })]);
  }

  /**
   * Begins with the signal, since requests in flight may take most of the grace time: other replicas get the partitions at
   * once, attempts in flight end, and their outcomes are stored. Never rejects.
   */
  private stopSending(): Promise<void> {
    this.sendingStopped ??= this.handOverAndDrain();
    return this.sendingStopped;
  }

  private async handOverAndDrain(): Promise<void> {
    const graceMs = this.fleet.shutdownGraceSeconds * 1_000;
    const drainMs = graceMs - Math.min(CLOSING_MS, graceMs * CLOSING_SHARE);
    const deadlineMs = performance.now() + drainMs;
    const intakeStopped = this.intake.stop().catch(() => undefined);
    this.writer.stop();
    await this.retries.stop();
    await this.leases.handOverAll().catch(() => undefined); // without a database the others wait until the session ends
    await this.sender.stop(Math.max(0, deadlineMs - performance.now()));
    await Promise.all([
      intakeStopped,
      Promise.race([this.outcomes.flush(), sleep(CLOSING_MS, undefined, { ref: false })]),
    ]);
    await this.leases.stop();
  }

  private async handOver(partitions: ReadonlySet<number>): Promise<void> {
    this.writer.drop(partitions);
    this.retries.drop(partitions);
    await this.sender.handOver(partitions);
  }

  private drop(partitions: ReadonlySet<number>): void {
    this.writer.drop(partitions);
    this.retries.drop(partitions);
    this.sender.drop(partitions);
  }
}
