import { FleetError } from '../errors.js';
import { settleAll } from '../processes/run.js';
import { NATS, type NatsUser, startNats } from './nats.js';
import { POSTGRES, startPostgres } from './postgres.js';
import { isAtLeast } from './programs.js';
import { REDIS, startRedis } from './redis.js';
import type { Store, StoreContext } from './store.js';

export interface Stores {
  postgres: Store;
  redis: Store;
  nats: Store;
}

/**
 * Takes each store from the environment, else starts a private one.
 * @throws FleetError when a server named by the environment cannot be used
 */
export async function openStores(context: StoreContext, natsUsers: readonly NatsUser[]): Promise<Stores> {
  const [postgres, redis, nats] = await settleAll(
    fromEnvironment(POSTGRES).then((found) => found ?? startPostgres(context)),
    fromEnvironment(REDIS).then((found) => found ?? startRedis(context)),
    fromEnvironment(NATS).then((found) => found ?? startNats(context, natsUsers)),
  );
  return { postgres, redis, nats };
}

async function fromEnvironment(server: typeof POSTGRES): Promise<Store | null> {
  const { title, variable, minimum, check } = server;
  const url = process.env[variable];
  if (!url) return null;
  try {
    const version = await check(url);
    if (!isAtLeast(version, minimum)) throw new Error(`version ${version} is older than ${minimum}`);
    return { title, url, version, from: variable, isPrivate: false };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    throw new FleetError(
      `${variable} is set, but that ${title} cannot be used: ${message || code}. ` +
        'Correct it, or unset it so that a private server is started.',
    );
  }
}
