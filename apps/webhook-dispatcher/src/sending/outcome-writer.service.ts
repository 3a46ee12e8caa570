import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import type { RequestShape } from '../attempt-log/request-shape.js';
import { RequestShapesRepository } from '../attempt-log/request-shapes.repository.js';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { LeasedDeliveriesService } from './leased-deliveries.service.js';
import { retryForever } from './retry-forever.js';
import type { Outcome } from './outcome.js';
import { OutcomesRepository } from './outcomes.repository.js';

const FLUSH_ROWS = 500;
const FLUSH_MS = 20;
/** So many unwritten outcomes mean that the database cannot follow: no new attempt begins. */
const FULL_ROWS = 5_000;

export interface OutcomeListener {
  /** A set that now stands in the database. */
  written(outcomes: Outcome[]): void;
  /** There is room again. */
  drained(): void;
}

/**
 * Writes outcomes in sets: each 20 ms, or as soon as 500 have come together.
 * A set that cannot be written is kept and tried again; what waits behind it grows until `isFull` stops the senders.
 */
@Injectable()
export class OutcomeWriterService {
  private waiting: Outcome[] = [];
  private inHand = 0;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private isRunning = false;
  private listener: OutcomeListener | undefined;

  constructor(
    private readonly repository: OutcomesRepository,
    private readonly shapes: RequestShapesRepository,
    private readonly leased: LeasedDeliveriesService,
    private readonly metrics: DispatcherMetrics,
    private readonly logger: Logger,
  ) {}

  listen(listener: OutcomeListener): void {
    this.listener = listener;
  }

  /** Outcomes that are not written yet. */
  get backlog(): number {
    return this.waiting.length + this.inHand;
  }

  get isFull(): boolean {
    return this.backlog >= FULL_ROWS;
  }

  add(outcome: Outcome): void {
    this.waiting.push(outcome);
    if (this.isRunning) return;
    if (this.waiting.length >= FLUSH_ROWS) this.begin();
    else this.timer ??= setTimeout(() => this.begin(), FLUSH_MS);
  }

  /** Ends when everything that was added before has been written. */
  async flush(): Promise<void> {
    if (!this.isRunning && this.waiting.length > 0) this.begin();
    await this.running;
  }

  private begin(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isRunning = true;
    this.running = this.writeAll();
  }

  /** One set after the other; what comes meanwhile makes the next set. */
  private async writeAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const wasFull = this.isFull;
      const set = this.waiting.splice(0, FLUSH_ROWS);
      this.inHand = set.length;
      const written = await this.write(set);
      this.inHand = 0;
      for (const { delivery } of set) this.leased.delete(delivery);
      const standing = set.filter(({ delivery }) => written.has(delivery.id));
      this.metrics.countOutcomes(standing, set.length - standing.length);
      this.listener?.written(standing);
      if (wasFull && !this.isFull) this.listener?.drained();
    }
    // In the same turn as the last look: an outcome added after it must start the next run.
    this.isRunning = false;
  }

  private write(set: Outcome[]): Promise<Set<string>> {
    return retryForever(
      async () => {
        const untried = set.filter(({ attempted }) => !attempted);
        if (untried.length > 0) await this.repository.dropOrphans(untried);
        await this.storeNewShapes(set);
        return this.repository.write(set);
      },
      (err) => this.logger.warn({ err, outcomes: set.length }, 'Outcomes cannot be written yet'),
    );
  }

  /** Before what refers to them. Hardly ever any: a shape is new when a webhook's first request is sent. */
  private async storeNewShapes(set: readonly Outcome[]): Promise<void> {
    const fresh = new Set<RequestShape>();
    for (const { shape } of set) if (shape?.isStored === false) fresh.add(shape);
    if (fresh.size > 0) await this.shapes.store([...fresh]);
  }
}
