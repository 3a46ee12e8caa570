import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { ClaimsRepository } from './claims.repository.js';
import type { LeasedDelivery } from './leased-delivery.types.js';
import { OrphanedLeasesService } from './orphaned-leases.service.js';
import { SenderService } from './sender.service.js';
import { ReplicaSignalsService } from './shards/replica-signals.service.js';
import { ShardOwnershipService } from './shards/shard-ownership.service.js';
import { yieldAfter } from './yield-after.js';

const SWEEP_MS = 1_000;
/** Sweeps between two checks of expired leases, counts of waiting deliveries, removals of deleted webhooks. */
const LEASES_EVERY = 5;
const WAITING_EVERY = 10;
const DELETED_EVERY = 60;
/** Fifteen seconds between two runs, which is longer than any statement may take. */
const ORPHANS_EVERY = 15;
const CLAIM_ROWS = 150;
/** With less room the claim waits for the next sweep, since a claim of few rows costs about as much. */
const MIN_CLAIM_ROWS = 75;
/** The time for which a due retry is left to its job in Redis. */
const OVERDUE_MS = 1_000;

/**
 * Claims and sends every delivery that is due and not leased: what a queue, the stream or a replica has lost, and
 * deliveries that requests created (test, retry), for which `wake` starts a sweep at once.
 */
@Injectable()
export class SweeperService {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isRequested = false;
  private overdueMs = OVERDUE_MS;
  private isStopped = false;
  private sweeps = 0;
  private maintainedSweep = -1;

  constructor(
    private readonly claims: ClaimsRepository,
    private readonly orphanedLeases: OrphanedLeasesService,
    private readonly index: SubscriptionIndexService,
    private readonly sender: SenderService,
    private readonly shards: ShardOwnershipService,
    private readonly replicas: ReplicaSignalsService,
    private readonly metrics: DispatcherMetrics,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.tick(), SWEEP_MS);
    this.runOnce();
  }

  /** Sweeps at once, since a delivery of this or another replica's shards may be due. */
  wake(): void {
    if (!this.shards.ownsAll) this.replicas.publishDeliveriesDue();
    this.runOnce();
  }

  /** Sweeps at once, retries that have just become due included: another replica has processed their jobs. */
  wakeForAll(): void {
    this.overdueMs = 0;
    this.runOnce();
  }

  private runOnce(): void {
    this.isRequested = true;
    if (this.isStopped || this.running) return;
    this.running = this.sweepAll().finally(() => {
      this.running = undefined;
      // A request that arrived while the last run ended would be lost.
      if (this.isRequested) this.runOnce();
    });
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.isRequested = false;
    clearInterval(this.timer);
    await this.running;
  }

  private tick(): void {
    this.sweeps += 1;
    this.runOnce();
  }

  private async sweepAll(): Promise<void> {
    try {
      while (this.isRequested && !this.isStopped) {
        this.isRequested = false;
        await this.maintain();
        await this.sweep();
      }
    } catch (err) {
      this.logger.warn({ err }, 'sweep failed; it is repeated in a second');
      this.isRequested = false;
    }
  }

  private async maintain(): Promise<void> {
    const sweeps = this.sweeps;
    if (sweeps === this.maintainedSweep) return; // already done in this tick
    this.maintainedSweep = sweeps;
    if (sweeps % LEASES_EVERY === 0) this.metrics.countFreed(await this.claims.reclaimExpiredLeases());
    if (sweeps % WAITING_EVERY === 0) this.metrics.setWaiting(await this.claims.countWaiting());
    if (sweeps % ORPHANS_EVERY === 0) await this.orphanedLeases.reclaimOrphans();
    if (sweeps % DELETED_EVERY === 0) await this.index.removeDeleted();
  }

  /**
   * Claims first attempts, then retries, until nothing is due or the sender has no room. A request restarts the sweep, so
   * that a delivery a user has just requested does not wait for a burst of retries.
   */
  private async sweep(): Promise<void> {
    const overdueMs = this.overdueMs;
    this.overdueMs = OVERDUE_MS;
    await this.claimAll(
      () => this.sender.room,
      (limit) => this.claims.claimDue('pending', limit),
    );
    await this.claimAll(
      () => this.sender.roomForRetries,
      (limit) => this.claims.claimDue('retrying', limit, overdueMs),
    );
    if (this.isRequested) this.overdueMs = Math.min(this.overdueMs, overdueMs);
  }

  private async claimAll(room: () => number, claim: (limit: number) => Promise<LeasedDelivery[]>): Promise<void> {
    let claimed: number;
    let limit: number;
    do {
      limit = Math.min(CLAIM_ROWS, room());
      if (limit < MIN_CLAIM_ROWS) return;
      const pause = yieldAfter();
      const deliveries = await claim(limit);
      claimed = deliveries.length;
      await this.sender.sendClaimed(deliveries);
      if (claimed === limit) await pause();
    } while (claimed === limit && !this.isRequested && !this.isStopped);
  }
}
