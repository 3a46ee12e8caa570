import { Redis } from 'ioredis';
import { once } from 'node:events';

/** Opens a connection that fails fast while Redis is away, as services do. */
export async function openShared(url: string): Promise<Redis> {
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 2_000 });
  redis.on('error', () => undefined); // the specs cut the connection
  await once(redis, 'ready');
  return redis;
}
