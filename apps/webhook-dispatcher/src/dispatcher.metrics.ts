import { Injectable } from '@nestjs/common';
import { MetricsRegistry } from '@rmm/service-kit';
import type { Outcome } from './sending/outcome.js';

/** What an operator and an autoscaler look at. */
@Injectable()
export class DispatcherMetrics {
  private readonly events;
  private readonly outcomes;
  private readonly lost;
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
    this.lost = registry.counter({
      name: 'rmm_webhook_outcomes_lost_total',
      help: 'Outcomes that came after the lease of their delivery was lost',
    });
    this.freed = registry.counter({
      name: 'rmm_webhook_leases_freed_total',
      help: 'Deliveries taken from processes that stopped renewing',
    });
    this.waiting = registry.gauge({
      name: 'rmm_webhook_waiting',
      help: 'Deliveries in the table that are due and held by no process, or parked; up to 100,000',
    });
    this.duration = registry.histogram({
      name: 'rmm_webhook_attempt_seconds',
      help: 'Time of an attempt',
      buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    });
  }

  /** `depth` is asked for at each scrape. */
  observeQueue(depth: {
    queued: () => number;
    inFlight: () => number;
    subscriptions: () => number;
    openBreakers: () => number;
    shards: () => number;
  }): void {
    const gauge = (name: string, help: string, read: () => number) =>
      this.registry.gauge({
        name,
        help,
        collect() {
          this.set(read());
        },
      });
    gauge('rmm_webhook_queue_depth', 'Deliveries held by this process and not yet begun', depth.queued);
    gauge('rmm_webhook_in_flight', 'Attempts under way', depth.inFlight);
    gauge('rmm_webhook_subscriptions', 'Active webhooks in the index', depth.subscriptions);
    gauge('rmm_webhook_breakers_open', 'Origins that get one attempt at a time', depth.openBreakers);
    gauge('rmm_webhook_shards_owned', 'Shards of origins this process alone sends to, of 64 in all', depth.shards);
  }

  countEvents(matched: number, unmatched: number, refused: number): void {
    this.events.inc({ result: 'matched' }, matched);
    this.events.inc({ result: 'unmatched' }, unmatched);
    this.events.inc({ result: 'refused' }, refused);
  }

  countOutcomes(outcomes: readonly Outcome[], lost: number): void {
    for (const { status, responseTimeMs } of outcomes) {
      this.outcomes.inc({ status });
      if (responseTimeMs !== null) this.duration.observe(responseTimeMs / 1_000);
    }
    if (lost > 0) this.lost.inc(lost);
  }

  /** As the table has just said. */
  setWaiting(deliveries: number): void {
    this.waiting.set(deliveries);
  }

  countFreed(deliveries: number): void {
    if (deliveries > 0) this.freed.inc(deliveries);
  }
}
