import { atLeast, versionIn } from '../binaries/executables.mjs';
import { Failure } from '../failure.mjs';
import { givePortBack } from '../processes/ports.mjs';
import { isListening } from './converse.mjs';
import { startNats } from './nats.mjs';
import { startPostgres } from './postgres.mjs';
import { probeNats } from './probe-nats.mjs';
import { probePostgres } from './probe-postgres.mjs';
import { probeRedis } from './probe-redis.mjs';
import { startRedis } from './redis.mjs';

const userNames = [...new Set(['postgres', process.env.PGUSER, process.env.USER].filter(Boolean))];

/**
 * The three stores: the variable that names one, where one is looked for by default (the last address is the login of
 * docker-compose.yml), the lowest version that suits, and how a private one starts.
 */
const STORES = {
  postgres: {
    title: 'PostgreSQL',
    variable: 'DATABASE_URL',
    port: 5432,
    minimum: [15, 0],
    candidates: [
      ...userNames.map((name) => `postgres://${encodeURIComponent(name)}@127.0.0.1:5432/postgres`),
      'postgres://fleet:fleet@127.0.0.1:5432/postgres',
    ],
    probe: probePostgres,
    start: startPostgres,
    probeNeedsDependencies: true,
  },
  redis: {
    title: 'Redis',
    variable: 'REDIS_URL',
    port: 6379,
    minimum: [6, 2],
    candidates: ['redis://127.0.0.1:6379', 'redis://:fleet@127.0.0.1:6379'],
    probe: probeRedis,
    start: startRedis,
  },
  nats: {
    title: 'NATS',
    variable: 'NATS_URL',
    port: 4222,
    minimum: [2, 10],
    candidates: ['nats://127.0.0.1:4222'],
    probe: probeNats,
    start: startNats,
  },
};

/**
 * Finds or starts one store: the environment, then the default port, then a private instance.
 * @param {'postgres' | 'redis' | 'nats'} kind
 * @param {{ context: object, dependencies: Promise<void>, startArgs?: any[] }} options
 * @returns {Promise<{ title: string, url: string, version: string, from: string, isPrivate: boolean }>}
 * @throws {Failure} when the environment names one that cannot be used: falling back would hide the mistake
 */
export async function discover(kind, { context, dependencies, startArgs = [] }) {
  const store = STORES[kind];
  const probe = async (url) => {
    if (store.probeNeedsDependencies) await dependencies;
    const found = await store.probe(url);
    if (!atLeast(versionIn(found.version), store.minimum)) {
      throw new Error(`version ${found.version} is too old, ${store.minimum.join('.')} is needed`);
    }
    return found;
  };
  const described = (found) => ({ title: store.title, isPrivate: false, ...found });

  const named = process.env[store.variable];
  if (named) return described(await useNamed(store, named, probe, context.say));
  if (process.env.FLEET_PRIVATE !== '1') {
    const found = await useDefaultPort(store, probe, context.say);
    if (found) return described(found);
  }
  const started = await store.start(context, ...startArgs);
  return { ...started, title: store.title, isPrivate: true, from: `private, ${started.from}` };
}

/**
 * Starts a private store again that ended by itself, on the port it had: everybody knows it by that.
 * @throws {Failure} when it does not start, or its port was taken meanwhile
 */
export async function startAgain(kind, port, { context, startArgs = [] }) {
  if (await isListening('127.0.0.1', port)) throw new Failure(`something else listens on its port ${port} now`);
  givePortBack(port);
  context.ports[kind] = port;
  await STORES[kind].start(context, ...startArgs);
}

async function useNamed(store, url, probe, say) {
  try {
    const found = await probe(url);
    warnAboutEviction(found, say);
    return { url, version: found.version, from: store.variable };
  } catch (error) {
    throw new Failure(
      `${store.variable} is set, but that ${store.title} cannot be used: ${error.message}\n` +
        '       Correct it, or unset it so that the launcher looks for one or starts its own.',
    );
  }
}

async function useDefaultPort(store, probe, say) {
  if (!(await isListening('127.0.0.1', store.port))) return null;
  let reason;
  for (const url of store.candidates) {
    try {
      const found = await probe(url);
      warnAboutEviction(found, say);
      return { url, version: found.version, from: 'default port' };
    } catch (error) {
      reason = error.message;
    }
  }
  say(`${store.title}: what answers on port ${store.port} does not suit (${reason}); starting a private one`);
  return null;
}

function warnAboutEviction({ policy }, say) {
  if (policy && policy !== 'noeviction') say(`Redis: maxmemory-policy is ${policy}; queues need noeviction`);
}
