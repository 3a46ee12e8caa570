import { createRequire } from 'node:module';
import path from 'node:path';
import { ROOT } from '../paths.mjs';
import { dropDatabase } from './database.mjs';
import { natsOptions } from './nats-logins.mjs';
import { readState } from './state.mjs';

const workspaceRequire = createRequire(path.join(ROOT, 'package.json'));

/** Removes our data from servers that were there before us; private ones go with their folder. */
export async function removeFromOwnServers() {
  const { stores } = readState();
  if (stores && !stores.postgres.isPrivate) await dropDatabase(stores.postgres.url);
  if (stores && !stores.redis.isPrivate) await deleteKeys(stores.redis.url);
  if (stores && !stores.nats.isPrivate) await deleteStreams(stores.nats.url);
}

/** Only keys with our prefix; a queue's keys are hash-tagged. */
async function deleteKeys(url) {
  const { default: Redis } = workspaceRequire('ioredis');
  const redis = new Redis(url);
  for (const match of ['rmm:*', '{rmm:*']) {
    for await (const keys of redis.scanStream({ match, count: 500 })) if (keys.length) await redis.unlink(...keys);
  }
  await redis.quit();
}

async function deleteStreams(url) {
  const connection = await workspaceRequire('nats').connect(natsOptions(url));
  const manager = await connection.jetstreamManager();
  for await (const { config } of manager.streams.list())
    if (config.name.startsWith('RMM_')) await manager.streams.delete(config.name);
  await connection.close();
}
