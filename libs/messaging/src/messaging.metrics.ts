import { Injectable } from '@nestjs/common';
import { MetricsRegistry } from '@rmm/service-kit';

/** Result of a message of a durable consumer. */
export type Settlement = 'handled' | 'redelivered' | 'terminated' | 'dead_lettered';

/** The metrics of messaging. */
@Injectable()
export class MessagingMetrics {
  private readonly published;
  private readonly publishFailures;
  private readonly consumed;
  private readOldest: () => Promise<number> = () => Promise.resolve(0);
  private readOldestBroadcast: () => Promise<number> = () => Promise.resolve(0);
  private readStorage: () => Promise<number> = () => Promise.resolve(0);
  private countDeadLetters: () => Promise<number> = () => Promise.resolve(0);
  private readonly rpc;

  constructor(metrics: MetricsRegistry) {
    this.published = metrics.counter({ name: 'rmm_outbox_published_total', help: 'Outbox rows published to NATS' });
    this.publishFailures = metrics.counter({
      name: 'rmm_outbox_failures_total',
      help: 'Outbox rows or batches that could not be published and will be retried',
      labelNames: ['cause'],
    });
    metrics.gauge({
      name: 'rmm_outbox_oldest_seconds',
      help: 'Age of the oldest committed row that is not published yet',
      collect: valueOf(() => this.readOldest()),
    });
    metrics.gauge({
      name: 'rmm_outbox_oldest_broadcast_seconds',
      help: 'Age of the oldest committed broadcast that is not sent yet',
      collect: valueOf(() => this.readOldestBroadcast()),
    });
    metrics.gauge({
      name: 'rmm_stream_storage_ratio',
      help: 'Share of the storage limit of JetStream that the streams use; 0 without a limit; the same on each replica',
      collect: valueOf(() => this.readStorage()),
    });
    this.consumed = metrics.counter({
      name: 'rmm_messages_total',
      help: 'Messages of durable consumers by their outcome',
      labelNames: ['consumer', 'outcome'],
    });
    metrics.gauge({
      name: 'rmm_dead_letter_messages',
      help: 'Messages that could not be handled and are stored until they are replayed; the same on each replica',
      collect: valueOf(() => this.countDeadLetters()),
    });
    this.rpc = metrics.histogram({
      name: 'rmm_rpc_served_seconds',
      help: 'Time to reply to a request of another service',
      labelNames: ['subject', 'code'],
      buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5],
    });
  }

  countPublished(rows: number): void {
    this.published.inc(rows);
  }

  countPublishFailure(cause: 'row' | 'nats' | 'database'): void {
    this.publishFailures.inc({ cause });
  }

  /** @param read  called at every scrape */
  observeOldest(read: () => Promise<number>): void {
    this.readOldest = read;
  }

  /** @param read  called at every scrape */
  observeOldestBroadcast(read: () => Promise<number>): void {
    this.readOldestBroadcast = read;
  }

  /** @param read  called at every scrape */
  observeStorage(read: () => Promise<number>): void {
    this.readStorage = read;
  }

  /** @param count  called at every scrape */
  observeDeadLetters(count: () => Promise<number>): void {
    this.countDeadLetters = count;
  }

  countConsumed(consumer: string, outcome: Settlement): void {
    this.consumed.inc({ consumer, outcome });
  }

  observeRpc(subject: string, code: string, seconds: number): void {
    this.rpc.observe({ subject, code }, seconds);
  }
}

/** Sets the gauge to what `read` returns. */
function valueOf(read: () => Promise<number>) {
  return async function (this: { set(value: number): void }): Promise<void> {
    this.set(await read());
  };
}
