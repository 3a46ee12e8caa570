import { Injectable } from '@nestjs/common';
import { Queue, Worker } from 'bullmq';
import { jobContext, type JobContext, runJob } from '@rmm/messaging';
import { Logger, RedisConnections } from '@rmm/service-kit';
import type { DeliveryKey } from '../sending/claims.repository.js';
import { countJobsOf, type JobCounts, producerOptions, queuePrefix, withinQueueTimeout } from './queue.config.js';

export const RETRY_QUEUE = 'webhook-retries';

/** Retries that are due within this time of each other share a job. */
const CHUNK_MS = 100;
/** Limits the deliveries of a job, since new events wait while they are claimed. */
export const CHUNK_ROWS = 150;
/** One, since a claim uses one of few connections, which writers need more. */
const WORKERS = 1;

/** Contains ids alone; the deliveries are read when they are due. */
interface RetryJob extends JobContext {
  /** The keys of the rows. */
  deliveries: [id: string, createdAt: string][];
}

export interface DueDelivery extends DeliveryKey {
  delayMs: number;
}

/**
 * Schedules retries in Redis, a job for each chunk of deliveries. PostgreSQL has every due time as well, so a job that
 * is lost, late or repeated changes only when the retry starts.
 */
@Injectable()
export class RetryQueueService {
  private queue: Queue<RetryJob> | undefined;
  private worker: Worker<RetryJob> | undefined;

  constructor(
    private readonly redis: RedisConnections,
    private readonly logger: Logger,
  ) {}

  /** @param onDue  receives chunks that are due; when it rejects, the sweeper retries them */
  start(onDue: (keys: DeliveryKey[]) => Promise<void>): void {
    this.queue = new Queue(RETRY_QUEUE, producerOptions(this.redis, RETRY_QUEUE));
    this.worker = new Worker<RetryJob>(
      RETRY_QUEUE,
      ({ data }) =>
        runJob(data, () => onDue(data.deliveries.map(([id, createdAt]) => ({ id, createdAt: new Date(createdAt) })))),
      {
        prefix: queuePrefix(RETRY_QUEUE),
        connection: this.redis.duplicate(),
        concurrency: WORKERS,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 1_000 },
      },
    );
    // Connection errors are logged by RedisConnections.
    this.queue.on('error', () => undefined);
    this.worker.on('error', () => undefined);
  }

  /** Returns null while Redis is unavailable. */
  countJobs(): Promise<JobCounts | null> {
    return countJobsOf(this.queue);
  }

  /**
   * Schedules deliveries; never rejects. While Redis is unavailable the sweeper sends them.
   * @returns whether they were scheduled
   */
  async add(deliveries: readonly DueDelivery[]): Promise<boolean> {
    const queue = this.queue;
    if (!queue || deliveries.length === 0) return false;
    const jobs = groupIntoChunks(deliveries).map(({ delayMs, keys }) => ({
      name: 'due',
      data: { deliveries: keys, ...jobContext() },
      opts: { delay: delayMs },
    }));
    try {
      await withinQueueTimeout(queue.addBulk(jobs));
      return true;
    } catch (err) {
      this.logger.warn(
        { err, deliveries: deliveries.length },
        'retry enqueue failed; the sweeper sends the retries when they are due',
      );
      return false;
    }
  }

  /** Stops processing; no job starts after this. */
  async stopProcessing(): Promise<void> {
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

/** Groups deliveries that are due together; a chunk has the delay of its latest delivery, so that all of it is due. */
export function groupIntoChunks(deliveries: readonly DueDelivery[]): Chunk[] {
  const byTime = new Map<number, DueDelivery[]>();
  for (const delivery of deliveries) {
    const bucket = Math.ceil(delivery.delayMs / CHUNK_MS);
    const together = byTime.get(bucket);
    if (together) together.push(delivery);
    else byTime.set(bucket, [delivery]);
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
