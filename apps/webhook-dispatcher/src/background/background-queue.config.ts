import type { QueueOptions } from 'bullmq';
import type { RedisConnections } from '@rmm/service-kit';

export const BACKGROUND_QUEUE = 'webhook-background';
/** Contains a hash tag, which keeps the keys of the queue in one slot of a Redis cluster. */
export const QUEUE_PREFIX = `{rmm:${BACKGROUND_QUEUE}}`;

/** Time limit of a command to the queue. */
const QUEUE_TIMEOUT_MS = 2_000;

/** Returns the options of the producer, which fails at once while Redis is unavailable instead of buffering commands. */
export const producerOptions = (redis: RedisConnections): QueueOptions => ({
  prefix: QUEUE_PREFIX,
  connection: redis.duplicate({ enableOfflineQueue: false, maxRetriesPerRequest: 0 }),
  defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
});

/** @throws when Redis does not respond in time; the command may still take effect, which does no harm */
export async function withinQueueTimeout<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Redis did not respond in time')), QUEUE_TIMEOUT_MS);
  });
  // A rejection after the time limit must not become an unhandled one.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
