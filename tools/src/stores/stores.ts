import fs from 'node:fs';
import path from 'node:path';
import { FleetError, ignore, type Say } from '../console.js';
import { DATA_DIR, ensureDir } from '../paths.js';
import { ProcessGroup } from '../processes/process-group.js';
import { identify, isAlive } from '../processes/process-record.js';
import { settleAll } from '../processes/run.js';
import { findNats, NATS, startNats, startNatsCluster } from './nats.js';
import { startPostgresWithStandby } from './postgres-standby.js';
import { POSTGRES, startPostgres } from './postgres.js';
import { isAtLeast, type ServerKind } from './programs.js';
import { findRedis, REDIS, startRedis, startRedisCluster } from './redis.js';
import type { Store, StoreContext } from './store.js';

export type Stores = Record<'postgres' | 'redis' | 'nats', Store>;

/** Shapes of private stores, by options of `./fleet up`. */
export interface StoreShapes {
  natsCluster?: boolean;
  postgresStandby?: boolean;
  redisCluster?: boolean;
}

/** Takes each store from the environment, else starts a private one. @throws FleetError when one cannot be used */
export async function openStores(
  context: StoreContext,
  natsUsers: readonly object[],
  { natsCluster, postgresStandby, redisCluster }: StoreShapes = {},
): Promise<Stores> {
  const startNatsOfFleet = natsCluster ? startNatsCluster : startNats;
  const startPostgresOfFleet = postgresStandby ? startPostgresWithStandby : startPostgres;
  const startRedisOfFleet = redisCluster ? startRedisCluster : startRedis;
  const [postgres, redis, nats] = await settleAll(
    fromEnvironment(POSTGRES, context).then((found) => found ?? startPostgresOfFleet(context)),
    fromEnvironment(REDIS, context).then((found) => found ?? startRedisOfFleet(context)),
    fromEnvironment(NATS, context).then((found) => found ?? startNatsOfFleet(context, natsUsers)),
  );
  return { postgres, redis, nats };
}

async function fromEnvironment({ title, variable, minimum, check }: ServerKind, { say }: StoreContext) {
  const url = process.env[variable];
  if (!url) return null;
  try {
    const version = await check(url);
    if (!isAtLeast(version, minimum)) throw new Error(`version ${version} is older than ${minimum}`);
    say(`${title} ${version} (${variable})`);
    return { url, isPrivate: false };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const problem = `${variable} is set, but that ${title} cannot be used: ${message || code}.`;
    throw new FleetError(`${problem} Correct it, or unset it so that a private server is started.`);
  }
}

/**
 * Starts a private PostgreSQL for specs and finds the programs of the stores that each spec file starts by itself.
 * @returns the JSON that specs read from TEST_STORES
 */
export async function startThrowawayStores({ dir, group }: TemporaryGroup, say: Say): Promise<string> {
  const context = { dir, group, say, onChange: ignore, ports: {}, isThrowaway: true };
  const [postgres, redis, nats] = await settleAll(startPostgres(context), findRedis(say), findNats(say));
  const programs = { redisBin: redis.bin, redisEnv: redis.env, natsBin: nats.bin, natsEnv: nats.env };
  return JSON.stringify({ postgresUrl: postgres.url, ...programs });
}

export interface TemporaryGroup {
  group: ProcessGroup;
  /** A folder below the data folder that is deleted when the group is released or this process is killed. */
  dir: string;
}

/** Creates a process group with a temporary folder, and deletes the folders of killed processes. */
export function createTemporaryGroup(): TemporaryGroup {
  ensureDir(DATA_DIR);
  for (const name of fs.readdirSync(DATA_DIR)) {
    const [, pid, start = ''] = /^test-(\d+)-(.+)$/.exec(name) ?? [];
    const isLeft = pid && !isAlive({ pid: Number(pid), start: decodeURIComponent(start) });
    if (isLeft) fs.rmSync(path.join(DATA_DIR, name), { recursive: true, force: true });
  }
  const { pid, start } = identify(process.pid);
  const dir = ensureDir(path.join(DATA_DIR, `test-${pid}-${encodeURIComponent(start)}`));
  return { dir, group: new ProcessGroup(dir) };
}
