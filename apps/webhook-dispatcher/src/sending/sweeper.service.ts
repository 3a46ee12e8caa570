import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { ClaimsRepository } from './claims.repository.js';
import type { LeasedDelivery } from './leased-delivery.js';
import { yieldAfter } from './yield-after.js';
import { SenderService } from './sender.service.js';
import { ReplicaSignalsService } from './shards/replica-signals.service.js';
import { ShardOwnershipService } from './shards/shard-ownership.service.js';
import { OrphanedLeasesService } from './orphaned-leases.service.js';

const SWEEP_MS = 1_000;
/** Every how many sweeps leases of others are looked at, what waits is counted, the index is rid of deleted webhooks. */
const LEASES_EVERY = 5;
const WAITING_EVERY = 10;
const DELETED_EVERY = 60;
/** Fifteen seconds lie between two looks: longer than any statement may take. */
const ORPHANS_EVERY = 15;
const CLAIM_ROWS = 150;
/** A claim costs about the same for a few rows: with less room it waits for the next sweep. */
const MIN_CLAIM_ROWS = 75;
/** So long a retry is left to its job in Redis, in milliseconds. */
const OVERDUE_MS = 1_000;

/**
 * The safety net under queue, stream and processes: sends whatever is due in the table and held by unauthorized. Deliveries
 * that a request makes (test, retry) come through here as well, at once by `wake`.
 */
@Injectable()
export class SweeperService {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isWanted = false;
  private overdueMs = OVERDUE_MS;
  private isStopped = false;
  private sweeps = 0;
  private tidied = -1;

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

  /** Something may have become due just now, here or for the shards of others. */
  wake(): void {
    if (!this.shards.ownsAll) this.replicas.due();
    this.runOnce();
  }

  /** Another process says that something is due, retries among it: it has met their jobs, and they are not its own. */
  wakeForAll(): void {
    this.overdueMs = 0;
    this.runOnce();
  }

  private runOnce(): void {
    this.isWanted = true;
    if (this.isStopped || this.running) return;
    this.running = this.work().finally(() => {
      this.running = undefined;
      // A wake that came in the last moment of the work would be forgotten.
      if (this.isWanted) this.runOnce();
    });
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.isWanted = false;
    clearInterval(this.timer);
    await this.running;
  }

  private tick(): void {
    this.sweeps += 1;
    this.runOnce();
  }

  private async work(): Promise<void> {
    try {
      while (this.isWanted && !this.isStopped) {
        this.isWanted = false;
        await this.tidy();
        await this.sweep();
      }
    } catch (err) {
      this.logger.warn({ err }, 'The sweep failed and is repeated');
      this.isWanted = false;
    }
  }

  private async tidy(): Promise<void> {
    const sweeps = this.sweeps;
    if (sweeps === this.tidied) return; // woken between two ticks
    this.tidied = sweeps;
    if (sweeps % LEASES_EVERY === 0) this.metrics.countFreed(await this.claims.reclaimExpiredLeases());
    if (sweeps % WAITING_EVERY === 0) this.metrics.setWaiting(await this.claims.waiting());
    if (sweeps % ORPHANS_EVERY === 0) await this.orphanedLeases.look();
    if (sweeps % DELETED_EVERY === 0) await this.index.forgetDeleted();
  }

  /**
   * Until nothing more is due, or the sender has no room: first attempts, then retries. A wake breaks off and begins
   * anew, so that what somebody has just asked for does not wait for a storm of retries.
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
    if (this.isWanted) this.overdueMs = Math.min(this.overdueMs, overdueMs);
  }

  private async claimAll(room: () => number, claim: (limit: number) => Promise<LeasedDelivery[]>): Promise<void> {
    let claimed: number;
    let limit: number;
    do {
      limit = Math.min(CLAIM_ROWS, room());
      if (limit < MIN_CLAIM_ROWS) return;
      const rest = yieldAfter();
      const deliveries = await claim(limit);
      claimed = deliveries.length;
      await this.sender.sendClaimed(deliveries);
      if (claimed === limit) await rest();
    } while (claimed === limit && !this.isWanted && !this.isStopped);
  }
}
