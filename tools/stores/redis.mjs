import fs from 'node:fs';
import path from 'node:path';
import { findRedis } from '../binaries/redis.mjs';
import { makeDir } from '../paths.mjs';
import { freePort, givePortBack } from '../processes/ports.mjs';
import { probeRedis } from './probe-redis.mjs';
import { waitUntilReady } from './ready.mjs';

const ATTEMPTS = 5;

/**
 * Starts a private Redis on 127.0.0.1 with a password.
 * @param {import('./context.mjs').StoreContext} context
 * @returns {Promise<{ url: string, version: string, from: string, bin: string, env: object }>}
 */
export async function startRedis(context) {
  const { bin, env, from } = await findRedis(context.say);
  const dir = makeDir(path.join(context.dir, 'redis'), 0o700);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(context.ports.redis);
    const url = `redis://:${context.secret}@127.0.0.1:${port}`;
    try {
      const version = await startServer({ context, bin, env, dir, port, url });
      context.ports.redis = port;
      return { url, version, from, bin, env };
    } catch (error) {
      givePortBack(port);
      context.ports.redis = undefined;
      if (attempt === ATTEMPTS || !/already in use/.test(error.message)) throw error;
    }
  }
}

async function startServer({ context, bin, env, dir, port, url }) {
  const config = path.join(dir, 'redis.conf');
  fs.writeFileSync(config, configuration({ dir, port, secret: context.secret, throwaway: context.throwaway }), {
    mode: 0o600,
  });
  const logFile = path.join(context.logDir, 'redis.log');
  const server = context.keeper.start({ name: 'store:redis', command: bin, args: [config], env, logFile });
  let version;
  await waitUntilReady('Redis', server, logFile, async () => (version = (await probeRedis(url)).version));
  return version;
}

/** Settings and password stand in a file, since arguments can be read by every user of the machine. */
function configuration({ dir, port, secret, throwaway }) {
  return [
    `port ${port}`,
    'bind 127.0.0.1',
    `requirepass ${secret}`,
    `dir "${dir}"`,
    'daemonize no',
    'maxmemory-policy noeviction',
    'databases 256',
    'save ""',
    throwaway ? 'appendonly no' : 'appendonly yes',
    'appendfsync everysec',
    '',
  ].join('\n');
}
