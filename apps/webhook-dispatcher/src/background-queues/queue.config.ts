import type { Queue, QueueOptions } from 'bullmq';
import type { RedisConnections } from '@rmm/service-kit';

/** Time limit of a command to a queue. */
const QUEUE_TIMEOUT_MS = 2_000;

/** Returns the key prefix of a queue, whose hash tag keeps its keys in one slot of a Redis cluster. */
export const queuePrefix = (queue: string): string => `{rmm:${queue}}`;

/** Returns the options of a producer, which fails at once while Redis is unavailable instead of buffering commands. */
export const producerOptions = (redis: RedisConnections, queue: string): QueueOptions => ({
  prefix: queuePrefix(queue),
  connection: redis.duplicate({ enableOfflineQueue: false, maxRetriesPerRequest: 0 }),
  defaultJobOptions: { removeOnComplete: true, removeOnFail: { count: 1_000 } },
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

/** The jobs of a queue by state. */
export interface JobCounts {
  waiting: number;
  delayed: number;
  active: number;
  failed: number;
}

/** Returns null while Redis is unavailable. */
export async function countJobsOf(queue: Queue | undefined): Promise<JobCounts | null> {
  if (!queue) return null;
  try {
    const counts = await withinQueueTimeout(queue.getJobCounts('waiting', 'delayed', 'active', 'failed'));
    const { waiting = 0, delayed = 0, active = 0, failed = 0 } = counts;
    return { waiting, delayed, active, failed };
  } catch {
    return null;
  }
}
