import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { DispatcherConfig } from '../config.js';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { SubscriptionIndex } from '../subscriptions/subscription-index.js';
import { Attempts } from './attempts.js';
import type { HeldDelivery } from './held-delivery.js';
import { type Outcome, notActive } from './outcome.js';
import { OutcomeWriter } from './outcome-writer.js';
import { Slots } from './slots.js';

/** Held and not yet begun: more than this is left in the database, in the stream or in Redis. */
const MAX_QUEUED = 20_000;
const ROOM_POLL_MS = 50;

/**
 * Sends what this process holds: a bounded number at a time, turn by turn, each outcome handed to the writer.
 */
@Injectable()
export class Sender {
  readonly #slots: Slots<HeldDelivery>;
  readonly #inFlight = new Set<Promise<void>>();
  #isStopped = false;

  constructor(
    private readonly attempts: Attempts,
    private readonly index: SubscriptionIndex,
    private readonly outcomes: OutcomeWriter,
    private readonly logger: Logger,
    config: DispatcherConfig,
    metrics: DispatcherMetrics,
  ) {
    const limits = {
      total: config.workerConcurrency,
      perOrigin: config.originConcurrency,
      perOrganization: config.organizationConcurrency,
    };
    this.#slots = new Slots(limits, (delivery, done) => this.#begin(delivery, done));
    metrics.observeQueue({
      queued: () => this.#slots.queued,
      inFlight: () => this.#slots.active,
      subscriptions: () => index.size,
    });
  }

  /** How many more deliveries may be taken on now. */
  get room(): number {
    return this.#isStopped || this.outcomes.isFull ? 0 : Math.max(0, MAX_QUEUED - this.#slots.queued);
  }

  /** Ends when there is room for more, or no more is taken at all: the back-pressure of all that feeds the sender. */
  async waitForRoom(): Promise<void> {
    while (this.room === 0 && !this.#isStopped) await sleep(ROOM_POLL_MS, undefined, { ref: false });
  }

  /** @param deliveries  held by this process; after `stop` they are left to whoever claims them next */
  send(deliveries: readonly HeldDelivery[]): void {
    if (this.#isStopped) return;
    for (const delivery of deliveries) {
      const subscription = this.index.find(delivery.webhookId);
      const isWaiting = subscription !== null || this.index.isBroken(delivery.webhookId);
      if (!isWaiting) this.outcomes.add(notActive(delivery));
      else this.#slots.add(delivery, { origin: subscription?.origin ?? 'broken', orgId: delivery.orgId });
    }
  }

  /** Forgets what has not begun: others hold it now. */
  dropQueued(): void {
    this.#slots.clear();
  }

  /** Takes no more, gives up what has not begun, and ends when every attempt in flight has ended or the time is up. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopped = true;
    this.#slots.clear();
    const timeUp = sleep(timeoutMs, undefined, { ref: false });
    await Promise.race([Promise.all(this.#inFlight), timeUp]);
  }

  #begin(delivery: HeldDelivery, done: () => void): void {
    const attempt: Promise<void> = this.attempts
      .make(delivery)
      .then((outcome: Outcome) => this.outcomes.add(outcome))
      .catch((err: unknown) => this.logger.error({ err, deliveryId: delivery.id }, 'An attempt broke off'))
      .finally(() => {
        this.#inFlight.delete(attempt);
        done();
      });
    this.#inFlight.add(attempt);
  }
}
