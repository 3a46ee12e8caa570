import { Injectable } from '@nestjs/common';
import { jobContext } from '@rmm/messaging';
import { Logger, RedisConnections } from '@rmm/service-kit';
import { Queue } from 'bullmq';
import { DispatcherConfig } from '../config.js';
import type { LeasedDelivery } from '../sending/leased-delivery.js';
import { countsOf, type JobCounts, producerOptions, withinQueueTimeout } from './queue-options.js';

export const DEAD_LETTER_QUEUE = 'webhook-dead-letters';

const CLEAN_EVERY_MS = 3_600_000;
const CLEAN_JOBS = 100_000;
const REMOVE_AT_ONCE = 200;

/**
 * The dead letters as an operator sees them in Redis: a job per delivery that used up its retries, ids alone. No
 * worker takes them. The table `dead_letter` is the record; what is missing here while Redis is away is there.
 */
@Injectable()
export class DeadLetterQueueService {
  private queue: Queue | undefined;
  private cleaning: NodeJS.Timeout | undefined;

  constructor(
    private readonly redis: RedisConnections,
    private readonly config: DispatcherConfig,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.queue = new Queue(DEAD_LETTER_QUEUE, producerOptions(this.redis, DEAD_LETTER_QUEUE));
    this.queue.on('error', () => undefined);
    this.cleaning = setInterval(() => void this.clean(), CLEAN_EVERY_MS).unref();
    void this.clean();
  }

  /** Null while Redis is away. */
  counts(): Promise<JobCounts | null> {
    return countsOf(this.queue);
  }

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
      this.logger.warn({ err, deliveries: deliveries.length }, 'Dead letters stand in the table only: no queue');
    }
  }

  /** After their rows. A job that is not there, or Redis away, changes nothing. */
  async remove(deliveryIds: readonly string[]): Promise<void> {
    const queue = this.queue;
    if (!queue) return;
    try {
      for (let i = 0; i < deliveryIds.length; i += REMOVE_AT_ONCE) {
        const some = deliveryIds.slice(i, i + REMOVE_AT_ONCE);
        await withinQueueTimeout(Promise.all(some.map((id) => queue.remove(id))));
      }
    } catch (err) {
      this.logger.warn({ err, deliveries: deliveryIds.length }, 'Dead letters that are gone still stand in the queue');
    }
  }

  async close(): Promise<void> {
    clearInterval(this.cleaning);
    await this.queue?.close().catch(() => undefined);
  }

  /** Jobs are kept no longer than the rows they stand for. */
  private async clean(): Promise<void> {
    const keptMs = this.config.deliveryRetentionDays * 86_400_000;
    await this.queue?.clean(keptMs, CLEAN_JOBS, 'wait').catch(() => undefined);
  }
}
