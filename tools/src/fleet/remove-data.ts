import { FleetError } from '../errors.js';
import { withNats, withRedis } from '../stores/clients.js';
import { dropDatabase } from './database.js';

const REMOVE: Record<string, (url: string) => Promise<void>> = {
  postgres: dropDatabase,
  redis: (url) =>
    withRedis(url, async (redis) => {
      for (const match of ['rmm:*', '{rmm:*']) {
        const found = redis.scanStream({ match, count: 500 }) as AsyncIterable<string[]>;
        for await (const keys of found) if (keys.length) await redis.unlink(...keys);
      }
    }),
  nats: (url) =>
    withNats(url, async (connection) => {
      const { streams } = await connection.jetstreamManager();
      for await (const name of streams.names()) if (name.startsWith('RMM_')) await streams.delete(name);
    }),
};

/** Removes the fleet's database, keys and streams from servers of the user's own. */
export async function removeFromExternalStores(stores: Record<string, string>): Promise<void> {
  for (const [name, url] of Object.entries(stores)) {
    await REMOVE[name]?.(url).catch((error: NodeJS.ErrnoException) => {
      const where = `${name} at ${new URL(url).host}`;
      throw new FleetError(
        `The data on ${where} cannot be removed (${error.message || error.code}). Start that server first.`,
      );
    });
  }
}
