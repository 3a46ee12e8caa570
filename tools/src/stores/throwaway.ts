import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DATA_DIR, ensureDir, readJson } from '../paths.js';
import { ProcessGroup } from '../processes/process-group.js';
import { isAlive, startTimeOf } from '../processes/process-record.js';
import { settleAll } from '../processes/run.js';
import { findNats } from './nats.js';
import { startPostgres } from './postgres.js';
import { findRedis } from './redis.js';

/**
 * Starts a private PostgreSQL for tests and benchmarks, and finds the programs of Redis and NATS, which each spec file
 * starts by itself. Nothing remains after `stop`.
 */
export async function startThrowawayStores(say: (line: string) => void) {
  const dir = createTemporaryDir('throwaway');
  const group = new ProcessGroup(dir);
  const stop = async () => {
    await group.release();
    fs.rmSync(dir, { recursive: true, force: true });
  };
  const context = { dir, group, say, onChange: () => {}, ports: {}, isThrowaway: true };
  try {
    const [{ url }, redis, nats] = await settleAll(startPostgres(context), findRedis(say), findNats(say));
    const addresses = JSON.stringify({
      postgresUrl: url,
      redisBin: redis.bin,
      redisEnv: redis.env,
      natsBin: nats.bin,
      natsEnv: nats.env,
    });
    return { addresses, variables: { TEST_STORES: addresses }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Creates a folder for this process below the data folder, and deletes those of processes that were killed. */
export function createTemporaryDir(kind: 'throwaway' | 'test'): string {
  ensureDir(DATA_DIR);
  for (const name of fs.readdirSync(DATA_DIR).filter((entry) => /^(throwaway|test)-\d+-/.test(entry))) {
    const dir = path.join(DATA_DIR, name);
    const owner = readJson<{ pid: number; start: string }>(path.join(dir, 'owner.json'));
    if (owner && !isAlive(owner)) fs.rmSync(dir, { recursive: true, force: true });
  }
  const dir = ensureDir(path.join(DATA_DIR, `${kind}-${process.pid}-${randomBytes(3).toString('hex')}`));
  fs.writeFileSync(path.join(dir, 'owner.json'), JSON.stringify({ pid: process.pid, start: startTimeOf(process.pid) }));
  return dir;
}
