import { Inject, Injectable, Logger } from '@nestjs/common';
import { HealthRegistry } from '@rmm/service-kit';
import { NatsLink } from '../connection/nats-link.service.js';
import { MessagingMetrics } from '../messaging.metrics.js';
import { MESSAGING_OPTIONS, type MessagingModuleOptions } from '../messaging.options.js';
import { readStorageUse } from '../streams/streams.js';
import { JetStreamPublisher } from './jetstream.publisher.js';
import { OutboxRepository, type AggregateDelay, type LeasedBatch } from './outbox.repository.js';
import { publishBatch, type PublishedBatch } from './publish-batch.js';
import { WakeUpSignal } from './wake-up-signal.js';

export interface RelayOptions {
  /** Rows per lease. */
  batchSize: number;
  /** Messages in flight per batch. */
  window: number;
  /** Batches in progress at the same time: one is published while another is read or deleted. */
  parallelBatches: number;
  /** Time after which the aggregates leased by a relay that died are free again. */
  leaseMs: number;
  /** Interval of reads without a wake-up call. */
  pollMs: number;
  /** Time after which messages that are not urgent are published, together with those that follow meanwhile. */
  lingerMs: number;
  /** When the outbox is read again while another relay has leased aggregates; doubled each time, up to `pollMs`. */
  recheckMs: number;
}

export const DEFAULT_RELAY_OPTIONS: RelayOptions = {
  batchSize: 1_000,
  window: 128,
  parallelBatches: 2,
  leaseMs: 15_000,
  pollMs: 1_000,
  lingerMs: 100,
  recheckMs: 25,
};

const HOUSEKEEPING_MS = 3_600_000;
const MAX_BACKOFF_MS = 5_000;
const MAX_DELAY_SECONDS = 60;
/** Readiness fails after this time: an election of a new leader takes less. */
const FAILING_MS = 5_000;

/**
 * Publishes committed outbox rows to NATS. Any number of relays may run on one schema. A row is sent at least once, with
 * its id as `Nats-Msg-Id`, so that the stream stores it once; rows of one aggregate are sent in order.
 */
@Injectable()
export class OutboxRelay {
  private readonly logger = new Logger('OutboxRelay');
  private readonly publisher: JetStreamPublisher;
  private readonly options: RelayOptions;
  private readonly wakeUp = new WakeUpSignal();
  private readonly refusals = new Map<string, number>();
  private lingering?: NodeJS.Timeout;
  private running?: Promise<void>;
  private stopped = false;
  private failures = 0;
  /** Since when the stream accepts nothing, on the clock of `performance.now()`. */
  private failingSinceMs?: number;
  private hasPublished = false;
  private isContended = false;
  /** The reads in a row that published nothing while another relay had leased aggregates. */
  private rechecks = 0;
  private cleanedUpAt = -Infinity;

  constructor(
    private readonly repository: OutboxRepository,
    private readonly link: NatsLink,
    private readonly metrics: MessagingMetrics,
    @Inject(MESSAGING_OPTIONS) { relay }: Pick<MessagingModuleOptions, 'relay'>,
    health: HealthRegistry,
  ) {
    this.publisher = new JetStreamPublisher(link);
    this.options = { ...DEFAULT_RELAY_OPTIONS, ...relay };
    link.onReconnect(() => this.wake());
    metrics.observeOldest(() => this.repository.oldestSeconds());
    metrics.observeStorage(() => readStorageUse(link.connection));
    health.register('publishing', () => this.check());
  }

  /** Checks for the readiness probe that streams accept messages. @throws Error  when they have refused all for a while */
  check(): Promise<void> {
    const isFailing = this.failingSinceMs !== undefined && performance.now() - this.failingSinceMs > FAILING_MS;
    return isFailing ? Promise.reject(new Error('The streams accept no messages')) : Promise.resolve();
  }

  /** Starts publishing; call it once the schema is migrated. */
  start(): void {
    this.running ??= this.run();
  }

  /** Reads the outbox at once, after a commit. */
  readonly wake = (): void => {
    clearTimeout(this.lingering);
    this.lingering = undefined;
    this.wakeUp.signal();
  };

  /** Reads the outbox a little later, once for all commits until then. */
  readonly wakeLater = (): void => {
    this.lingering ??= setTimeout(this.wake, this.options.lingerMs);
  };

  /** Publishes the remaining rows if NATS is available, then ends; another relay or the next start publishes the rest. */
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
    while (this.link.isConnected && (await this.attempt()) && this.hasPublished);
  }

  /** Returns false when the outbox could not be read or published. */
  private async attempt(): Promise<boolean> {
    if (!this.link.isConnected) return false;
    this.hasPublished = this.isContended = false;
    try {
      await this.drain();
      this.rechecks = this.isContended ? (this.hasPublished ? 1 : this.rechecks + 1) : 0;
      await this.cleanUp();
      this.failures = 0;
      return true;
    } catch (error) {
      this.failures += 1;
      if (this.failures === 1)
        this.logger.warn({ message: 'The outbox cannot be published; retrying, its rows remain', err: error });
      return false;
    }
  }

  private pauseMs(): number {
    const { pollMs, recheckMs } = this.options;
    if (this.failures > 0) return Math.min(100 * 2 ** this.failures, MAX_BACKOFF_MS);
    return this.rechecks === 0 ? pollMs : Math.min(recheckMs * 2 ** (this.rechecks - 1), pollMs);
  }

  /**
   * Publishes until a batch is not full, with a second loop in parallel when the first batch is. One batch is enough
   * otherwise, since every commit wakes the relay.
   */
  private async drain(parallelBatches = this.options.parallelBatches): Promise<void> {
    let helper: Promise<void> | undefined;
    try {
      for (;;) {
        const batch = await this.lease();
        this.isContended ||= batch.contended;
        if (batch.rows.length === 0) return this.recheckFailing();
        if (batch.full && parallelBatches > 1) helper ??= this.drain(parallelBatches - 1);
        helper?.catch(() => undefined);
        const result = await publishBatch(this.publisher, batch, this.options.window);
        await this.settle(batch, result);
        if (result.unavailable) throw result.unavailable;
        this.hasPublished = true;
        if (!batch.full) return;
      }
    } finally {
      await helper;
    }
  }

  /** Another relay may have published what this one could not, or has leased it at present. */
  private async recheckFailing(): Promise<void> {
    if (this.failingSinceMs !== undefined && (await this.repository.oldestSeconds()) === 0) {
      this.failingSinceMs = undefined;
    }
  }

  private async lease(): Promise<LeasedBatch> {
    try {
      return await this.repository.lease(this.options.batchSize, this.options.leaseMs);
    } catch (error) {
      this.metrics.countPublishFailure('database');
      throw error;
    }
  }

  private async settle(batch: LeasedBatch, { published, refused, unavailable }: PublishedBatch): Promise<void> {
    if (unavailable) this.metrics.countPublishFailure('nats');
    this.failingSinceMs = unavailable ? (this.failingSinceMs ?? performance.now()) : undefined;
    for (const row of published) this.refusals.delete(row.aggregateId);
    const delays = [...refused].map(([aggregateId, error]) => this.delayAggregate(aggregateId, error));
    await this.repository.settle(batch.leaseId, published, delays);
    this.metrics.countPublished(published.length);
  }

  /** Doubles the delay with each refusal, up to a minute. */
  private delayAggregate(aggregateId: string, error: Error): AggregateDelay {
    const times = (this.refusals.get(aggregateId) ?? 0) + 1;
    this.refusals.set(aggregateId, times);
    this.metrics.countPublishFailure('row');
    this.logger.error({
      message: 'The stream refused a message; later messages of its aggregate wait for its retry',
      aggregateId,
      times,
      err: error,
    });
    return { aggregateId, seconds: Math.min(0.5 * 2 ** times, MAX_DELAY_SECONDS) };
  }

  private async cleanUp(): Promise<void> {
    if (performance.now() - this.cleanedUpAt < HOUSEKEEPING_MS) return;
    this.cleanedUpAt = performance.now();
    await this.repository.dropEmptyPartitions();
  }
}
