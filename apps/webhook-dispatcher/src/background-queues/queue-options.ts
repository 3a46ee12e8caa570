import type { Queue, QueueOptions } from 'bullmq';
import type { RedisConnections } from '@rmm/service-kit';

/** A command to the queue that does not answer within this counts as failed, in milliseconds. */
const QUEUE_TIMEOUT_MS = 2_000;

/** The keys of a queue share one slot of a Redis cluster. */
export const queuePrefix = (queue: string): string => `{rmm:${queue}}`;

/** For producers: while Redis is away they fail at once instead of collecting commands. */
export const producerOptions = (redis: RedisConnections, queue: string): QueueOptions => ({
  prefix: queuePrefix(queue),
  connection: redis.duplicate({ enableOfflineQueue: false, maxRetriesPerRequest: 0 }),
  defaultJobOptions: { removeOnComplete: true, removeOnFail: { count: 1_000 } },
});

/** @throws when Redis has not answered in time; the command may still take effect, which does no harm */
export async function withinQueueTimeout<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Redis did not answer in time')), QUEUE_TIMEOUT_MS);
  });
  // The loser of the race must not become an unhandled rejection.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What an operator wants to know of a queue. */
export interface JobCounts {
  waiting: number;
  delayed: number;
  active: number;
  failed: number;
}

/** Null while Redis is away. */
export async function countsOf(queue: Queue | undefined): Promise<JobCounts | null> {
  if (!queue) return null;
  try {
    const counts = await withinQueueTimeout(queue.getJobCounts('waiting', 'delayed', 'active', 'failed'));
    const of = (state: string) => counts[state] ?? 0;
    return { waiting: of('waiting'), delayed: of('delayed'), active: of('active'), failed: of('failed') };
  } catch {
    return null;
  }
}
