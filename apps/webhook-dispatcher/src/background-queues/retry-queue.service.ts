import { Injectable } from '@nestjs/common';
import { jobContext, type JobContext, runJob } from '@rmm/messaging';
import { Logger, RedisConnections } from '@rmm/service-kit';
import { Queue, Worker } from 'bullmq';
import type { DeliveryKey } from '../sending/claims.repository.js';
import { countsOf, type JobCounts, producerOptions, queuePrefix, withinQueueTimeout } from './queue-options.js';

export const RETRY_QUEUE = 'webhook-retries';

/** Retries that fall due within so much of each other share a job, in milliseconds. */
const CHUNK_MS = 100;
/** Deliveries of a job, at most: what is claimed at once also keeps new events waiting at once. */
export const CHUNK_ROWS = 150;
/** A claim holds a connection, and there are few: those who write come first. */
const WORKERS = 1;

/** Ids alone: what is sent is read when it is due. */
interface RetryJob extends JobContext {
  /** Id and creation time, the key of the row. */
  deliveries: [id: string, createdAt: string][];
}

export interface DueDelivery extends DeliveryKey {
  delayMs: number;
}

/**
 * The timetable of retries in Redis: a job per chunk, never per delivery. PostgreSQL knows every due time as well, so
 * that a job that is lost, late or doubled changes nothing but the moment.
 */
@Injectable()
export class RetryQueueService {
  private queue: Queue<RetryJob> | undefined;
  private worker: Worker<RetryJob> | undefined;

  constructor(
    private readonly redis: RedisConnections,
    private readonly logger: Logger,
  ) {}

  /** @param due  takes chunks whose time has come; a rejection leaves the chunk to the sweeper */
  start(due: (keys: DeliveryKey[]) => Promise<void>): void {
    this.queue = new Queue(RETRY_QUEUE, producerOptions(this.redis, RETRY_QUEUE));
    this.worker = new Worker<RetryJob>(
      RETRY_QUEUE,
      ({ data }) =>
        runJob(data, () => due(data.deliveries.map(([id, createdAt]) => ({ id, createdAt: new Date(createdAt) })))),
      {
        prefix: queuePrefix(RETRY_QUEUE),
        connection: this.redis.duplicate(),
        concurrency: WORKERS,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 1_000 },
      },
    );
    // Connection troubles are logged where the connections are made.
    this.queue.on('error', () => undefined);
    this.worker.on('error', () => undefined);
  }

  /** Null while Redis is away. */
  counts(): Promise<JobCounts | null> {
    return countsOf(this.queue);
  }

  /**
   * Schedules what can be scheduled; while Redis is away the sweeper is the timetable.
   * @returns whether they stand in the queue
   */
  async add(deliveries: readonly DueDelivery[]): Promise<boolean> {
    const queue = this.queue;
    if (!queue || deliveries.length === 0) return false;
    const jobs = chunksOf(deliveries).map(({ delayMs, keys }) => ({
      name: 'due',
      data: { deliveries: keys, ...jobContext() },
      opts: { delay: delayMs },
    }));
    try {
      await withinQueueTimeout(queue.addBulk(jobs));
      return true;
    } catch (err) {
      this.logger.warn({ err, deliveries: deliveries.length }, 'Retries wait for the sweeper: no queue');
      return false;
    }
  }

  /** No job begins after this. */
  async stopTaking(): Promise<void> {
    await this.worker?.close(true).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.queue?.close().catch(() => undefined);
  }
}

interface Chunk {
  delayMs: number;
  keys: [id: string, createdAt: string][];
}

/** Deliveries that fall due together, in chunks; each chunk as late as its latest, so that all of it is due. */
export function chunksOf(deliveries: readonly DueDelivery[]): Chunk[] {
  const byTime = new Map<number, DueDelivery[]>();
  for (const delivery of deliveries) {
    const slot = Math.ceil(delivery.delayMs / CHUNK_MS);
    const together = byTime.get(slot);
    if (together) together.push(delivery);
    else byTime.set(slot, [delivery]);
  }
  return [...byTime.values()].flatMap((together) => {
    const delayMs = Math.ceil(Math.max(...together.map((delivery) => delivery.delayMs)));
    const chunks: Chunk[] = [];
    for (let i = 0; i < together.length; i += CHUNK_ROWS) {
      const part = together.slice(i, i + CHUNK_ROWS);
      chunks.push({ delayMs, keys: part.map(({ id, createdAt }) => [id, createdAt.toISOString()]) });
    }
    return chunks;
  });
}
