import { Keeper } from '../processes/keeper.mjs';
import { allOrFirstError } from '../processes/wait.mjs';
import { StoreContext } from './context.mjs';
import { startNats } from './nats.mjs';
import { startPostgres } from './postgres.mjs';
import { startRedis } from './redis.mjs';
import { temporaryDir } from './temporary-dir.mjs';

/**
 * Private PostgreSQL, Redis and NATS for tests and benchmarks: nothing is synced to disk, nothing stays.
 * @returns {Promise<{ urls: object, stop: () => Promise<void> }>} `urls` is what `stores.mjs throwaway --json` prints
 */
export async function startThrowawayStores(say = () => {}) {
  const dir = temporaryDir('throwaway');
  const keeper = new Keeper({ removeAtEnd: [dir] });
  const context = new StoreContext({ dir, keeper, say, throwaway: true });
  const stop = async () => {
    await keeper.release();
    context.remove();
  };
  try {
    const [postgres, redis, nats] = await allOrFirstError([
      startPostgres(context),
      startRedis(context),
      startNats(context),
    ]);
    return { urls: describe(postgres, redis, nats), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function describe(postgres, redis, nats) {
  return {
    postgresUrl: postgres.url,
    redisUrl: redis.url,
    natsUrl: nats.url,
    natsBin: nats.bin,
    natsEnv: {},
    redisBin: redis.bin,
    redisEnv: redis.env,
  };
}

/** The same as variables, for the specs and benchmarks of one run, which then share one PostgreSQL. */
export function storeVariables(urls) {
  return {
    TEST_POSTGRES_URL: urls.postgresUrl,
    TEST_REDIS_URL: urls.redisUrl,
    TEST_NATS_URL: urls.natsUrl,
    TEST_NATS_BIN: urls.natsBin,
    TEST_NATS_ENV: JSON.stringify(urls.natsEnv),
    TEST_REDIS_BIN: urls.redisBin,
    TEST_REDIS_ENV: JSON.stringify(urls.redisEnv),
    TEST_REDIS_LD_LIBRARY_PATH: urls.redisEnv.LD_LIBRARY_PATH ?? '',
  };
}
