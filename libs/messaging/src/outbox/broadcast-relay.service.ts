import { Injectable, Logger } from '@nestjs/common';
import pTimeout from 'p-timeout';
import { NatsLink } from '../connection/nats-link.service.js';
import { MessagingMetrics } from '../messaging.metrics.js';
import { BroadcastOutboxRepository, type BroadcastRow } from './broadcast-outbox.repository.js';
import { WakeUpSignal } from './wake-up-signal.js';

const BATCH = 500;
/** Another relay sends the rows of one that died after this time. */
const LEASE_MS = 3_000;
const FLUSH_TIMEOUT_MS = 2_000;
const POLL_MS = 1_000;
const RETRY_MS = 250;

/**
 * Sends committed broadcasts on core NATS, independent of the relay of the streams: an outage or a backlog of JetStream
 * does not delay them. A broadcast is sent at least once.
 */
@Injectable()
export class BroadcastRelay {
  private readonly logger = new Logger('BroadcastRelay');
  private readonly wakeUp = new WakeUpSignal();
  private running?: Promise<void>;
  private stopped = false;
  private failures = 0;

  constructor(
    private readonly repository: BroadcastOutboxRepository,
    private readonly link: NatsLink,
    private readonly metrics: MessagingMetrics,
  ) {
    link.onReconnect(() => this.wake());
    metrics.observeOldestBroadcast(async () => (await repository.oldestMs()) / 1_000);
  }

  /** Starts sending; call it once the schema is migrated. */
  start(): void {
    this.running ??= this.run();
  }

  /** Sends at once, after a commit. */
  readonly wake = (): void => this.wakeUp.signal();

  /** Sends the remaining broadcasts if NATS is available, then ends. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      await this.attempt();
      if (!this.stopped) await this.wakeUp.wait(this.failures > 0 ? RETRY_MS : POLL_MS);
    }
    await this.attempt();
  }

  private async attempt(): Promise<void> {
    if (!this.link.isConnected) return;
    try {
      while ((await this.sendBatch()) === BATCH);
      this.failures = 0;
    } catch (err) {
      this.failures += 1;
      if (this.failures === 1) {
        this.logger.warn({ message: 'Broadcasts cannot be sent; retrying, heartbeats stop if it lasts', err });
      }
    }
  }

  private async sendBatch(): Promise<number> {
    const rows = await this.lease();
    if (rows.length === 0) return 0;
    await this.send(rows);
    await this.repository.deleteSent(rows);
    this.metrics.countPublished(rows.length);
    return rows.length;
  }

  private async lease(): Promise<BroadcastRow[]> {
    try {
      return await this.repository.lease(BATCH, LEASE_MS);
    } catch (error) {
      this.metrics.countPublishFailure('database');
      throw error;
    }
  }

  /** Rows stay in the table until the server has received them. */
  private async send(rows: readonly BroadcastRow[]): Promise<void> {
    const { connection } = this.link;
    try {
      for (const { subject, payload } of rows) connection.publish(subject, payload);
      await pTimeout(connection.flush(), { milliseconds: FLUSH_TIMEOUT_MS });
    } catch (error) {
      this.metrics.countPublishFailure('nats');
      throw error;
    }
  }
}
