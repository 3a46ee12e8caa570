import type { QueueOptions } from 'bullmq';
import type { RedisConnections } from '@rmm/service-kit';

export const BACKGROUND_QUEUE = 'webhook-background';
/** Contains a hash tag, which keeps the keys of the queue in one slot of a Redis cluster. */
export const QUEUE_PREFIX = `{rmm:${BACKGROUND_QUEUE}}`;

/** The names of the jobs. Those with a lower number run first, since a user waits for them. */
export const JOB_PRIORITIES = { 'recover-webhook': 1, 'auto-fail-mails': 1, 'purge-webhook': 10 } as const;

/** Returns the options of the producer, which fails at once while Redis is unavailable instead of buffering commands. */
export const producerOptions = (redis: RedisConnections): QueueOptions => ({
  prefix: QUEUE_PREFIX,
  connection: redis.duplicate({ enableOfflineQueue: false, maxRetriesPerRequest: 0 }),
  defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
});
