import { Injectable } from '@nestjs/common';
import { Queue } from 'bullmq';
import { jobContext } from '@rmm/messaging';
import { Logger, RedisConnections } from '@rmm/service-kit';
import type { LeasedDelivery } from '../sending/leased-delivery.types.js';
import { countJobsOf, type JobCounts, producerOptions, withinQueueTimeout } from './queue.config.js';

export const DEAD_LETTER_QUEUE = 'webhook-dead-letters';

const CLEAN_JOBS = 100_000;
const REMOVE_CHUNK = 200;

/**
 * Shows dead letters to operators as jobs that contain ids alone; no worker processes them. The table `dead_letter` is
 * the truth: jobs may be missing after Redis was unavailable.
 */
@Injectable()
export class DeadLetterQueueService {
  private queue: Queue | undefined;

  constructor(
    private readonly redis: RedisConnections,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.queue = new Queue(DEAD_LETTER_QUEUE, producerOptions(this.redis, DEAD_LETTER_QUEUE));
    this.queue.on('error', () => undefined);
  }

  /** Returns null while Redis is unavailable. */
  countJobs(): Promise<JobCounts | null> {
    return countJobsOf(this.queue);
  }

  /** Adds a job for each delivery; never rejects. */
  async add(deliveries: readonly LeasedDelivery[]): Promise<void> {
    const queue = this.queue;
    if (!queue || deliveries.length === 0) return;
    const jobs = deliveries.map(({ id, createdAt, webhookId, orgId }) => ({
      name: 'dead',
      data: { deliveryId: id, createdAt: createdAt.toISOString(), webhookId, orgId, ...jobContext() },
      opts: { jobId: id },
    }));
    try {
      await withinQueueTimeout(queue.addBulk(jobs));
    } catch (err) {
      this.logger.warn(
        { err, deliveries: deliveries.length },
        'dead-letter enqueue failed; rows remain in dead_letter',
      );
    }
  }

  /** Removes the jobs of deleted dead letters; never rejects. */
  async remove(deliveryIds: readonly string[]): Promise<void> {
    const queue = this.queue;
    if (!queue) return;
    try {
      for (let i = 0; i < deliveryIds.length; i += REMOVE_CHUNK) {
        const chunk = deliveryIds.slice(i, i + REMOVE_CHUNK);
        await withinQueueTimeout(Promise.all(chunk.map((id) => queue.remove(id))));
      }
    } catch (err) {
      this.logger.warn(
        { err, deliveries: deliveryIds.length },
        'dead-letter jobs were not removed; they stay in the queue until the retention ends',
      );
    }
  }

  /** Removes jobs older than `olderThanMs`. */
  async clean(olderThanMs: number): Promise<void> {
    await this.queue?.clean(olderThanMs, CLEAN_JOBS, 'wait');
  }

  async close(): Promise<void> {
    await this.queue?.close().catch(() => undefined);
  }
}
