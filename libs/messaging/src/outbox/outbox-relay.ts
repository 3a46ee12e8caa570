import { Logger } from '@nestjs/common';
import type { WorkerDatabase } from '@rmm/persistence';
import type { NatsLink } from '../connection/nats-link.js';
import type { MessagingMetrics } from '../messaging-metrics.js';
import { JetStreamPublisher } from './jetstream-publisher.js';
import { OutboxStore, type Hold, type LeasedBatch } from './outbox-store.js';
import { publishBatch, type PublishedBatch } from './publish-batch.js';
import { WakeUp } from './wake-up.js';

export interface RelayOptions {
  /** Rows per lease. */
  batchSize: number;
  /** Messages in flight per lane. */
  window: number;
  /** Batches worked on side by side: one is published while another is read or deleted. */
  lanes: number;
  /** A relay that died holds its aggregates back for this long. */
  leaseMs: number;
  /** How often the outbox is looked at without being woken. */
  pollMs: number;
  /** After rows were carried: what another replica committed for one of their aggregates meanwhile woke nobody. */
  lookAgainMs: number;
}

export const DEFAULT_RELAY_OPTIONS: RelayOptions = {
  batchSize: 1_000,
  window: 128,
  lanes: 2,
  leaseMs: 15_000,
  pollMs: 1_000,
  lookAgainMs: 25,
};

const HOUSEKEEPING_MS = 3_600_000;
const MAX_BACKOFF_MS = 5_000;
const MAX_HOLD_SECONDS = 60;

/**
 * Carries committed outbox rows to NATS. Any number may run on one schema; a row leaves at least once, with its id as
 * `Nats-Msg-Id`, so that the stream keeps it once; rows of one aggregate leave in order.
 */
export class OutboxRelay {
  private readonly logger = new Logger('OutboxRelay');
  private readonly store: OutboxStore;
  private readonly publisher: JetStreamPublisher;
  private readonly options: RelayOptions;
  private readonly wakeUp = new WakeUp();
  private readonly refusals = new Map<string, number>();
  private running?: Promise<void>;
  private stopped = false;
  private failures = 0;
  private carriedRows = false;
  private tidiedAt = -Infinity;

  constructor(
    worker: WorkerDatabase,
    private readonly link: NatsLink,
    private readonly metrics: MessagingMetrics,
    options: Partial<RelayOptions> = {},
  ) {
    this.store = new OutboxStore(worker);
    this.publisher = new JetStreamPublisher(link);
    this.options = { ...DEFAULT_RELAY_OPTIONS, ...options };
    link.onReconnect(() => this.wake());
    metrics.watchOldest(() => this.store.oldestSeconds());
  }

  /** To be called once the schema is migrated. */
  start(): void {
    this.running ??= this.run();
  }

  /** Something was committed: look now. */
  readonly wake = (): void => this.wakeUp.call();

  /** Publishes what is there if it can, then ends; what is left another relay, or the next start, carries. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.wake();
    await this.running;
    this.publisher.close();
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      await this.attempt();
      if (!this.stopped) await this.wakeUp.wait(this.pauseMs());
    }
    while (this.link.isConnected && (await this.attempt()) && this.carriedRows);
  }

  /** False when it came to nothing. */
  private async attempt(): Promise<boolean> {
    if (!this.link.isConnected) return false;
    this.carriedRows = false;
    try {
      await this.drain();
      await this.tidyUp();
      this.failures = 0;
      return true;
    } catch (error) {
      this.failures += 1;
      if (this.failures === 1) this.logger.warn({ message: 'The outbox cannot be drained, trying on', err: error });
      return false;
    }
  }

  private pauseMs(): number {
    const { pollMs, lookAgainMs } = this.options;
    if (this.failures > 0) return Math.min(100 * 2 ** this.failures, MAX_BACKOFF_MS);
    return this.carriedRows ? lookAgainMs : pollMs;
  }

  /**
   * For as long as batches come back full: one lane, and a further one beside it. Under a steady trickle one look is
   * enough for each commit, since every commit wakes us.
   */
  private async drain(lanes = this.options.lanes): Promise<void> {
    let helper: Promise<void> | undefined;
    try {
      for (;;) {
        const batch = await this.lease();
        if (batch.rows.length === 0) return;
        if (batch.full && lanes > 1) helper ??= this.drain(lanes - 1);
        helper?.catch(() => undefined);
        const result = await publishBatch(this.publisher, batch, this.options.window);
        await this.settle(batch, result);
        if (result.unreachable) throw result.unreachable;
        this.carriedRows = true;
        if (!batch.full) return;
      }
    } finally {
      await helper;
    }
  }

  private async lease(): Promise<LeasedBatch> {
    try {
      return await this.store.lease(this.options.batchSize, this.options.leaseMs);
    } catch (error) {
      this.metrics.countPublishFailure('database');
      throw error;
    }
  }

  private async settle(batch: LeasedBatch, { published, refused, unreachable }: PublishedBatch): Promise<void> {
    if (unreachable) this.metrics.countPublishFailure('nats');
    for (const row of published) this.refusals.delete(row.aggregateId);
    const holds = [...refused].map(([aggregateId, error]) => this.holdBack(aggregateId, error));
    await this.store.done(batch.leaseId, published, holds);
    this.metrics.countPublished(published.length);
  }

  /** Each further refusal waits twice as long, up to a minute. */
  private holdBack(aggregateId: string, error: Error): Hold {
    const times = (this.refusals.get(aggregateId) ?? 0) + 1;
    this.refusals.set(aggregateId, times);
    this.metrics.countPublishFailure('row');
    this.logger.error({
      message: 'A message was refused and holds its aggregate back',
      aggregateId,
      times,
      err: error,
    });
    return { aggregateId, seconds: Math.min(0.5 * 2 ** times, MAX_HOLD_SECONDS) };
  }

  private async tidyUp(): Promise<void> {
    if (performance.now() - this.tidiedAt < HOUSEKEEPING_MS) return;
    this.tidiedAt = performance.now();
    await this.store.dropEmptyPartitions();
  }
}
