import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import type { RequestShape } from '../attempt-log/request-shape.mapper.js';
import { RequestShapesRepository } from '../attempt-log/request-shapes.repository.js';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { LeasedDeliveriesService } from './leased-deliveries.service.js';
import type { Outcome } from './outcome.js';
import { OutcomesRepository } from './outcomes.repository.js';
import { retryForever } from './retry-forever.js';

const FLUSH_ROWS = 500;
const FLUSH_MS = 20;
/** With this many unwritten outcomes the database is too slow, and no new attempt starts. */
const FULL_ROWS = 5_000;

export interface OutcomeListener {
  /** Receives the outcomes that were stored. */
  onWritten(outcomes: Outcome[]): void;
  /** Called when the writer is no longer full. */
  onDrained(): void;
}

/**
 * Writes outcomes in sets, every 20 ms or as soon as 500 are waiting. A set that cannot be written is retried; outcomes
 * accumulate meanwhile until `isFull` stops the sender.
 */
@Injectable()
export class OutcomeWriterService {
  private waiting: Outcome[] = [];
  private writing = 0;
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

  subscribe(listener: OutcomeListener): void {
    this.listener = listener;
  }

  /** The number of outcomes that are not written yet. */
  get backlog(): number {
    return this.waiting.length + this.writing;
  }

  get isFull(): boolean {
    return this.backlog >= FULL_ROWS;
  }

  add(outcome: Outcome): void {
    this.waiting.push(outcome);
    if (this.isRunning) return;
    if (this.waiting.length >= FLUSH_ROWS) this.startWriting();
    else this.timer ??= setTimeout(() => this.startWriting(), FLUSH_MS);
  }

  /** Resolves when everything added before has been written. */
  async flush(): Promise<void> {
    if (!this.isRunning && this.waiting.length > 0) this.startWriting();
    await this.running;
  }

  private startWriting(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isRunning = true;
    this.running = this.writeAll();
  }

  /** Writes one set after the other until no outcome is left. */
  private async writeAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const wasFull = this.isFull;
      const set = this.waiting.splice(0, FLUSH_ROWS);
      this.writing = set.length;
      const written = await this.write(set);
      this.writing = 0;
      for (const { delivery } of set) this.leased.delete(delivery);
      const stored = set.filter(({ delivery }) => written.has(delivery.id));
      this.metrics.countOutcomes(stored, set.length - stored.length);
      this.listener?.onWritten(stored);
      if (wasFull && !this.isFull) this.listener?.onDrained();
    }
    // In the same tick as the last check, so that an outcome added after it starts the next run.
    this.isRunning = false;
  }

  private write(set: Outcome[]): Promise<Set<string>> {
    return retryForever(
      async () => {
        const unattempted = set.filter(({ attempted }) => !attempted);
        if (unattempted.length > 0) await this.repository.deleteOrphans(unattempted);
        await this.storeNewShapes(set);
        return this.repository.write(set);
      },
      (err) =>
        this.logger.warn({ err, outcomes: set.length }, 'writing outcomes failed; it is retried until it succeeds'),
    );
  }

  /** Stores shapes before the outcomes that refer to them; a shape is new with the first request of a webhook. */
  private async storeNewShapes(set: readonly Outcome[]): Promise<void> {
    const newShapes = new Set<RequestShape>();
    for (const { shape } of set) if (shape?.isStored === false) newShapes.add(shape);
    if (newShapes.size > 0) await this.shapes.store([...newShapes]);
  }
}
