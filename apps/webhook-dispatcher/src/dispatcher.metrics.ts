import { Injectable } from '@nestjs/common';
import { MetricsRegistry } from '@rmm/service-kit';
import type { Outcome } from './sending/outcome.js';

/** Metrics for operators and autoscalers. */
@Injectable()
export class DispatcherMetrics {
  private readonly events;
  private readonly outcomes;
  private readonly expired;
  private readonly duration;
  private readonly freed;
  private readonly waiting;

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
    this.expired = registry.counter({
      name: 'rmm_webhook_outcomes_lost_total',
      help: 'Outcomes dropped because the lease of their delivery had expired',
    });
    this.freed = registry.counter({
      name: 'rmm_webhook_leases_freed_total',
      help: 'Deliveries whose lease expired or was orphaned',
    });
    this.waiting = registry.gauge({
      name: 'rmm_webhook_waiting',
      help: 'Deliveries that are due and not leased, or in a backlog; up to 100,000 each',
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
    inFlight: () => number;
    subscriptions: () => number;
    openBreakers: () => number;
    shards: () => number;
  }): void {
    const gauge = (name: string, help: string, getValue: () => number) =>
      this.registry.gauge({
        name,
        help,
        collect() {
          this.set(getValue());
        },
      });
    gauge('rmm_webhook_queue_depth', 'Deliveries leased by this replica that have not started', read.queued);
    gauge('rmm_webhook_in_flight', 'Attempts in flight', read.inFlight);
    gauge('rmm_webhook_subscriptions', 'Active webhooks in the index', read.subscriptions);
    gauge('rmm_webhook_breakers_open', 'Origins with an open circuit breaker', read.openBreakers);
    gauge('rmm_webhook_shards_owned', 'Shards this replica owns, of 64', read.shards);
  }

  countEvents(matched: number, unmatched: number, refused: number): void {
    this.events.inc({ result: 'matched' }, matched);
    this.events.inc({ result: 'unmatched' }, unmatched);
    this.events.inc({ result: 'refused' }, refused);
  }

  countOutcomes(outcomes: readonly Outcome[], expired: number): void {
    for (const { status, responseTimeMs } of outcomes) {
      this.outcomes.inc({ status });
      if (responseTimeMs !== null) this.duration.observe(responseTimeMs / 1_000);
    }
    if (expired > 0) this.expired.inc(expired);
  }

  setWaiting(deliveries: number): void {
    this.waiting.set(deliveries);
  }

  countFreed(deliveries: number): void {
    if (deliveries > 0) this.freed.inc(deliveries);
  }
}
