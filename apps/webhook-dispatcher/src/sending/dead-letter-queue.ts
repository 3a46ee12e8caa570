import { Injectable } from '@nestjs/common';
import { jobContext } from '@rmm/messaging';
import { Logger, RedisConnections } from '@rmm/service-kit';
import { Queue } from 'bullmq';
import type { HeldDelivery } from './held-delivery.js';
import { producerOptions, withinQueueTimeout } from './queue-options.js';

export const DEAD_LETTER_QUEUE = 'webhook-dead-letters';

/**
 * The dead letters as an operator sees them in Redis: a job per delivery that used up its retries, ids alone. No
 * worker takes them. The table `dead_letter` is the record; what is missing here while Redis is away is there.
 */
@Injectable()
export class DeadLetterQueue {
  #queue: Queue | undefined;

  constructor(
    private readonly redis: RedisConnections,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.#queue = new Queue(DEAD_LETTER_QUEUE, producerOptions(this.redis, DEAD_LETTER_QUEUE));
    this.#queue.on('error', () => undefined);
  }

  async add(deliveries: readonly HeldDelivery[]): Promise<void> {
    const queue = this.#queue;
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

  async close(): Promise<void> {
    await this.#queue?.close().catch(() => undefined);
  }
}
