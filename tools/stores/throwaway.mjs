import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DATA_DIR, makeDir, readJson } from '../paths.mjs';
import { isAlive, startOf } from '../processes/identity.mjs';
import { Keeper } from '../processes/keeper.mjs';
import { allOrFirstError } from '../processes/wait.mjs';
import { StoreContext } from './context.mjs';
import { startNats } from './nats.mjs';
import { startPostgres } from './postgres.mjs';
import { startRedis } from './redis.mjs';

const PREFIX = 'throwaway-';

/**
 * Private PostgreSQL, Redis and NATS for tests and benchmarks: nothing is synced to disk, nothing stays.
 * @returns {Promise<{ urls: object, stop: () => Promise<void> }>} `urls` is what `stores.mjs throwaway --json` prints
 */
export async function startThrowawayStores(say = () => {}) {
  removeAbandoned();
  const dir = makeDir(path.join(DATA_DIR, `${PREFIX}${process.pid}-${randomBytes(3).toString('hex')}`));
  fs.writeFileSync(path.join(dir, 'owner.json'), JSON.stringify({ pid: process.pid, start: startOf(process.pid) }));
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

/** What a run left whose every process was killed, its watchdog too. */
function removeAbandoned() {
  if (!fs.existsSync(DATA_DIR)) return;
  for (const name of fs.readdirSync(DATA_DIR).filter((entry) => entry.startsWith(PREFIX))) {
    const dir = path.join(DATA_DIR, name);
    const owner = readJson(path.join(dir, 'owner.json'));
    if (owner && !isAlive(owner)) fs.rmSync(dir, { recursive: true, force: true });
  }
}
