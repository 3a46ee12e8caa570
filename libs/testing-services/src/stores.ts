import { findStores } from './addresses.js';
import { openTcpProxy, type TcpProxy } from './tcp-proxy.js';
import { createDatabase, type Preparation, type TestDatabase } from './test-database.js';
import { type NatsOptions, startNats, type TestNats } from './test-nats.js';
import { startRedis, type TestRedis } from './test-redis.js';

/** The stores of one spec file; nothing of them is shared with another one, so that spec files run side by side. */
export interface Stores {
  /** A fresh database with, per schema, an owner, a service and a worker login; prepared if wanted. */
  createDatabase<Schema extends string>(
    schemas: readonly Schema[],
    preparation?: Preparation<Schema>,
  ): Promise<TestDatabase<Schema>>;
  /** A Redis server of this spec file's own, running. */
  redis: TestRedis;
  redisUrl: string;
  /** Each call starts a NATS server. */
  nats(options?: NatsOptions): Promise<TestNats>;
  /** A way to any of these servers that can be shut, to see what happens without it. */
  gate(url: string): Promise<TcpProxy>;
  /** Drops and stops all of it. */
  stop(): Promise<void>;
}

/** To be called in `beforeAll`, with `stop()` in `afterAll`. */
export async function startStores(): Promise<Stores> {
  const found = await findStores();
  const undo: (() => Promise<unknown>)[] = [() => found.stop()];
  const stop = async () => {
    const failures: unknown[] = [];
    for (const step of undo.reverse()) await step().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw new AggregateError(failures, 'The stores did not stop cleanly');
  };
  try {
    const redis = await startRedis(found.addresses);
    undo.push(() => redis.dispose());
    return {
      redis,
      redisUrl: redis.url,
      createDatabase: async (schemas, preparation) => {
        const database = await createDatabase(found.addresses.postgresUrl, schemas, preparation);
        undo.push(() => database.drop());
        return database;
      },
      nats: async (options) => {
        const nats = await startNats(found.addresses, options);
        undo.push(() => nats.dispose());
        return nats;
      },
      gate: async (url) => {
        const gate = await openTcpProxy(url);
        undo.push(() => gate.close());
        return gate;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
