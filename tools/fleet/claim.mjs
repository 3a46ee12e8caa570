import { createRequire } from 'node:module';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { ROOT } from '../paths.mjs';
import { natsOptions } from './nats-logins.mjs';

const workspaceRequire = createRequire(path.join(ROOT, 'package.json'));
const KEY = 'rmm:fleet';
const STREAM = 'RMM_FLEET';
const nameOf = ({ id, dir }) => `fleet ${id} of ${dir}`;
const isNameOf = (name, { id }) => name.startsWith(`fleet ${id} `);

/** Two fleets on one server would take each other's jobs and messages, and change each other's passwords. */
export const belongsToAnother = (what, owner) =>
  new Failure(
    `${what} on a server of yours belongs to another fleet (${owner}).\n` +
      '       Start with FLEET_PRIVATE=1 for stores of its own, or end the other with "fleet reset" in its checkout.',
  );

/**
 * Writes on Redis whose it is.
 * @param {{ id: string, dir: string }} fleet
 * @throws {Failure} when another fleet did so before
 */
export async function claimRedis(url, fleet) {
  await withRedis(url, async (redis) => {
    await redis.setnx(KEY, nameOf(fleet));
    const owner = await redis.get(KEY);
    if (!isNameOf(owner, fleet)) throw belongsToAnother('Redis', owner);
  });
}

/** The same for NATS: a stream that holds nothing, with the name of the fleet as its description. */
export async function claimNats(url, fleet) {
  await withJetStream(url, async (manager) => {
    const { description } = (await markOf(manager)) ?? (await manager.streams.add(mark(fleet))).config;
    if (!isNameOf(description, fleet)) throw belongsToAnother('NATS', description);
  });
}

/** Deletes the keys with our prefix (a queue's are hash-tagged), if they are of this fleet. */
export async function clearRedis(url, fleet) {
  await withRedis(url, async (redis) => {
    if (!isNameOf((await redis.get(KEY)) ?? nameOf(fleet), fleet)) return;
    for (const match of ['rmm:*', '{rmm:*']) {
      for await (const keys of redis.scanStream({ match, count: 500 })) if (keys.length) await redis.unlink(...keys);
    }
  });
}

/** Deletes the streams with our prefix, if they are of this fleet. */
export async function clearNats(url, fleet) {
  await withJetStream(url, async (manager) => {
    if (!isNameOf((await markOf(manager))?.description ?? nameOf(fleet), fleet)) return;
    for await (const { config } of manager.streams.list())
      if (config.name.startsWith('RMM_')) await manager.streams.delete(config.name);
  });
}

const mark = (fleet) => ({ name: STREAM, subjects: ['rmm.fleet'], max_msgs: 1, description: nameOf(fleet) });

async function markOf(manager) {
  for await (const { config } of manager.streams.list()) if (config.name === STREAM) return config;
  return null;
}

async function withRedis(url, work) {
  const { default: Redis } = workspaceRequire('ioredis');
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  redis.on('error', () => {}); // the command that waits for it rejects
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

async function withJetStream(url, work) {
  const connection = await workspaceRequire('nats').connect(natsOptions(url));
  try {
    return await work(await connection.jetstreamManager());
  } finally {
    await connection.close();
  }
}
