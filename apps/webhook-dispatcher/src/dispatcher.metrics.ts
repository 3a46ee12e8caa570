import { Injectable } from '@nestjs/common';
import { MetricsRegistry } from '@rmm/service-kit';
import { EXPIRED_MESSAGE, type Outcome } from './sending/queued-delivery.js';
import type { WaitingReason } from './sending/sender.service.js';

/** Metrics for operators and autoscalers. */
@Injectable()
export class DispatcherMetrics {
  private readonly events;
  private readonly outcomes;
  private readonly discarded;
  private readonly expired;
  private readonly delay;
  private readonly duration;

  constructor(private readonly registry: MetricsRegistry) {
    this.events = registry.counter({
      name: 'rmm_webhook_events_total',
      help: 'Events taken from the stream',
      labelNames: ['result'],
    });
    this.outcomes = registry.counter({
      name: 'rmm_webhook_outcomes_total',
      help: 'Outcomes written',
      labelNames: ['status'],
    });
    this.discarded = registry.counter({
      name: 'rmm_webhook_outcomes_discarded_total',
      help: 'Outcomes not stored: another replica owns the partition, the webhook is deleted, or the delivery has ended',
    });
    this.expired = registry.counter({
      name: 'rmm_webhook_deliveries_expired_total',
      help: 'Deliveries that failed since they were open until a day before the end of their retention',
    });
    this.delay = registry.histogram({
      name: 'rmm_webhook_first_attempt_delay_seconds',
      help: 'Time from the event to its first attempt',
      buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    });
    this.duration = registry.histogram({
      name: 'rmm_webhook_attempt_seconds',
      help: 'Duration of an attempt',
      buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    });
  }

  /** Registers gauges whose functions are called at each scrape. */
  observeQueue(read: {
    queued: () => number;
    queuedBytes: () => number;
    inFlight: () => number;
    subscriptions: () => number;
    undecipherable: () => number;
    openBreakers: () => number;
    partitions: () => number;
  }): void {
    const gauge = (name: string, help: string, getValue: () => number) =>
      this.registry.gauge({
        name,
        help,
        collect() {
          this.set(getValue());
        },
      });
    gauge(
      'rmm_webhook_in_memory',
      'Deliveries in memory: queued, in flight, or waiting for a short retry',
      read.queued,
    );
    gauge('rmm_webhook_in_memory_bytes', 'Bodies of the deliveries in memory', read.queuedBytes);
    gauge('rmm_webhook_in_flight', 'Attempts in flight', read.inFlight);
    gauge('rmm_webhook_subscriptions', 'Active webhooks in the index', read.subscriptions);
    gauge(
      'rmm_webhook_undecipherable',
      'Active webhooks that cannot be opened since a key is missing; their deliveries wait',
      read.undecipherable,
    );
    gauge('rmm_webhook_breakers_open', 'Webhooks with an open circuit breaker', read.openBreakers);
    gauge('rmm_webhook_partitions_owned', 'Partitions this replica owns, of 1,024', read.partitions);
  }

  /** Registers the gauges of what waits in the table; `read` is called at each scrape. */
  observeWaiting(read: () => { webhooks: Record<WaitingReason, number>; oldestSeconds: number }): void {
    this.registry.gauge({
      name: 'rmm_webhook_waiting_webhooks',
      help: 'Webhooks of this replica with due deliveries that wait in the table, by reason',
      labelNames: ['reason'],
      collect() {
        for (const [reason, count] of Object.entries(read().webhooks)) this.set({ reason }, count);
      },
    });
    this.registry.gauge({
      name: 'rmm_webhook_oldest_sendable_seconds',
      help: 'How long the oldest delivery in the table that no breaker, pause or tenant keeps back has been due',
      collect() {
        this.set(read().oldestSeconds);
      },
    });
  }

  /** Registers the gauges of the oldest delivery without a final state; `read` is called at each scrape. */
  observeOldestOpen(read: () => number, expireAfterSeconds: number): void {
    this.registry.gauge({
      name: 'rmm_webhook_oldest_open_seconds',
      help: 'Age of the oldest delivery without a final state, whatever it waits for; the same on each replica',
      collect() {
        this.set(read());
      },
    });
    this.registry
      .gauge({
        name: 'rmm_webhook_expire_after_seconds',
        help: 'Age at which a delivery without a final state fails, a day before the end of its retention',
      })
      .set(expireAfterSeconds);
  }

  /** Registers the gauge of events in the stream that no replica has taken. */
  observeLag(read: () => Promise<number>): void {
    this.registry.gauge({
      name: 'rmm_webhook_events_lag',
      help: 'Events in the stream that no replica has taken yet; the same on each replica',
      async collect() {
        await read().then(
          (lag) => this.set(lag),
          () => this.reset(),
        );
      },
    });
  }

  countEvents(matched: number, unmatched: number, refused: number): void {
    this.events.inc({ result: 'matched' }, matched);
    this.events.inc({ result: 'unmatched' }, unmatched);
    this.events.inc({ result: 'refused' }, refused);
  }

  countOutcomes(outcomes: readonly Outcome[], discarded: number): void {
    const counts = { retrying: 0, delivered: 0, failed: 0 };
    let expired = 0;
    for (const { status, responseTimeMs, startedMs, delivery, errorMessage } of outcomes) {
      if (status === 'pending') continue;
      counts[status] += 1;
      if (startedMs === null && errorMessage === EXPIRED_MESSAGE) expired += 1;
      if (responseTimeMs !== null) this.duration.observe(responseTimeMs / 1_000);
      if (delivery.attempt > 0 || startedMs === null) continue;
      this.delay.observe(Math.max(0, startedMs - delivery.createdAt.getTime()) / 1_000);
    }
    for (const [status, count] of Object.entries(counts)) if (count > 0) this.outcomes.inc({ status }, count);
    if (discarded > 0) this.discarded.inc(discarded);
    if (expired > 0) this.expired.inc(expired);
  }
}
