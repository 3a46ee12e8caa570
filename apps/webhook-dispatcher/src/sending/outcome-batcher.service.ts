import { Injectable } from '@nestjs/common';
import pg from 'pg';
import { Logger, UnavailableError } from '@rmm/service-kit';
import { RequestShapesRepository } from '../attempt-log/request-shapes.repository.js';
import type { RequestShape } from '../attempt-log/stored-exchange.mapper.js';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { bytesOf, OutcomesRepository } from './outcomes.repository.js';
import type { Outcome, QueuedDelivery } from './queued-delivery.js';
import { retryForever } from './retry-forever.js';

const SET_ROWS = 500;
const SET_BYTES = 1_048_576;
const FLUSH_MS = 20;
/** With this much unwritten the database is too slow, and no new attempt starts. */
const FULL_ROWS = 5_000;
const FULL_BYTES = 32 * 1_048_576;
const STATEMENT_TIMEOUT = '57014';

export interface OutcomeListener {
  onStored(outcome: Outcome): void;
  /** The row has another state, its webhook is deleted, or another replica owns its partition. */
  onDiscarded(outcome: Outcome): void;
  /** Called when the batcher is no longer full. */
  onDrained(): void;
}

/**
 * Writes outcomes in sets, every 20 ms or as soon as a set is full. A set that takes too long or cannot be written is
 * split in halves, so that one row delays no other for ever; without a database everything waits.
 */
@Injectable()
export class OutcomeBatcherService {
  /** By delivery: an outcome replaces the `pending` that was not written yet. */
  private readonly waiting = new Map<string, Outcome>();
  private waitingBytes = 0;
  private writing = 0;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private isRunning = false;
  private listener: OutcomeListener | undefined;

  constructor(
    private readonly repository: OutcomesRepository,
    private readonly shapes: RequestShapesRepository,
    private readonly leases: PartitionLeaseManagerService,
    private readonly metrics: DispatcherMetrics,
    private readonly logger: Logger,
  ) {}

  subscribe(listener: OutcomeListener): void {
    this.listener = listener;
  }

  /** The number of outcomes that are not written yet. */
  get backlog(): number {
    return this.waiting.size + this.writing;
  }

  get isFull(): boolean {
    return this.backlog >= FULL_ROWS || this.waitingBytes >= FULL_BYTES;
  }

  add(outcome: Outcome): void {
    const { delivery } = outcome;
    delivery.hasOutcome = true;
    const replaced = this.waiting.get(delivery.id);
    if (replaced) this.waitingBytes -= bytesOf(replaced);
    this.waiting.set(delivery.id, outcome);
    this.waitingBytes += bytesOf(outcome);
    if (this.isRunning) return;
    if (this.waiting.size >= SET_ROWS || this.waitingBytes >= SET_BYTES) this.startWriting();
    else this.timer ??= setTimeout(() => this.startWriting(), FLUSH_MS);
  }

  /** Resolves when everything added before has been written. */
  async flush(): Promise<void> {
    if (!this.isRunning && this.waiting.size > 0) this.startWriting();
    await this.running;
  }

  /** Makes stored deliveries due later, so that their next owner leaves them alone. */
  reserve(deliveries: readonly QueuedDelivery[], reserveMs: number): Promise<void> {
    return this.repository.reserve(deliveries, reserveMs);
  }

  private startWriting(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isRunning = true;
    this.running = this.writeAll();
  }

  /** Writes one set after the other until no outcome is left. */
  private async writeAll(): Promise<void> {
    while (this.waiting.size > 0) {
      const wasFull = this.isFull;
      const set = this.takeSet();
      this.writing = set.length;
      await this.writeSet(set);
      this.writing = 0;
      if (wasFull && !this.isFull) this.listener?.onDrained();
    }
    // In the same tick as the last check, so that an outcome added after it starts the next run.
    this.isRunning = false;
  }

  private takeSet(): Outcome[] {
    const set: Outcome[] = [];
    let bytes = 0;
    for (const [id, outcome] of this.waiting) {
      if (set.length === SET_ROWS || (bytes >= SET_BYTES && set.length > 0)) break;
      this.waiting.delete(id);
      set.push(outcome);
      bytes += bytesOf(outcome);
    }
    this.waitingBytes = Math.max(0, this.waitingBytes - bytes);
    if (this.waiting.size === 0) this.waitingBytes = 0;
    return set;
  }

  private async writeSet(set: readonly Outcome[]): Promise<void> {
    try {
      this.report(set, await this.store(set));
    } catch (error) {
      await this.split(set, error);
    }
  }

  private store(set: readonly Outcome[]) {
    return retryForever(
      async () => {
        await this.storeNewShapes(set);
        return this.repository.write(set, (partition) => this.leases.epochOf(partition));
      },
      (err) => {
        if (!(err instanceof UnavailableError) || (set.length > 1 && isStatementTimeout(err))) throw err;
        this.logger.warn({ err, outcomes: set.length }, 'Writing outcomes failed; it is retried until it succeeds');
      },
    );
  }

  private async split(set: readonly Outcome[], error: unknown): Promise<void> {
    const [first] = set;
    if (set.length > 1) {
      const half = Math.ceil(set.length / 2);
      await this.writeSet(set.slice(0, half));
      return this.writeSet(set.slice(half));
    }
    if (!first) return;
    this.logger.error(
      { err: error, deliveryId: first.delivery.id },
      'Outcome cannot be stored; its event is retried, or the row stays open until its partition has another owner',
    );
    first.delivery.event?.onFailed(error);
    this.listener?.onDiscarded(first);
  }

  private report(
    set: readonly Outcome[],
    { written, lost }: { written: ReadonlySet<string> | null; lost: readonly number[] },
  ): void {
    if (lost.length > 0) this.leases.drop(lost);
    const isLost = new Set(lost);
    const stored: Outcome[] = [];
    for (const outcome of set) {
      const { delivery } = outcome;
      const isStored = written === null || written.has(delivery.id);
      const wasStored = delivery.isStored;
      if (isStored) {
        delivery.isStored = true;
        stored.push(outcome);
      }
      if (!wasStored) {
        if (!isStored && isLost.has(delivery.partition)) delivery.event?.onRefused();
        else delivery.event?.onStored();
      }
      if (isStored) this.listener?.onStored(outcome);
      else this.listener?.onDiscarded(outcome);
    }
    this.metrics.countOutcomes(stored, set.length - stored.length);
  }

  /** Stores shapes before the outcomes that refer to them; a shape is new with the first request of a webhook. */
  private async storeNewShapes(set: readonly Outcome[]): Promise<void> {
    const newShapes = new Set<RequestShape>();
    for (const { shape } of set) if (shape?.isStored === false) newShapes.add(shape);
    if (newShapes.size > 0) await this.shapes.store([...newShapes]);
  }
}

const isStatementTimeout = (error: UnavailableError): boolean =>
  error.cause instanceof pg.DatabaseError && error.cause.code === STATEMENT_TIMEOUT;
