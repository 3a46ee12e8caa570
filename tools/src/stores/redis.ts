import fs from 'node:fs';
import path from 'node:path';
import type { Say } from '../console.js';
import { ensureDir } from '../paths.js';
import { checkRedis } from './clients.js';
import { fetchDebianPackages, findOnPath, firstProgram, programAt, type ServerKind } from './programs.js';
import { startServer, type Store, type StoreContext, storePassword } from './store.js';

export const REDIS: ServerKind = {
  name: 'redis',
  title: 'Redis',
  variable: 'REDIS_URL',
  minimum: '6.2',
  check: checkRedis,
  hint: 'macOS: brew install redis; Debian and Ubuntu: apt-get install redis-server; Fedora: dnf install valkey',
};

export async function startRedis(context: StoreContext): Promise<Store> {
  const { bin, env, from } = await findRedis(context.say);
  const dir = ensureDir(path.join(context.dir, 'redis'), 0o700);
  const password = storePassword(context.dir);
  return startServer(context, REDIS, from, {
    describe: (port) => {
      // The password is in a file because every user of the machine can read the arguments of a process.
      const config = path.join(dir, 'redis.conf');
      const settings = ['bind 127.0.0.1', 'maxmemory-policy noeviction', 'databases 256', 'save ""', 'appendonly yes'];
      const own = [`port ${port}`, `requirepass ${password}`, `dir "${dir}"`];
      fs.writeFileSync(config, [...own, ...settings, ''].join('\n'), { mode: 0o600 });
      return { command: bin, args: [config], env };
    },
    urlOf: (port) => `redis://:${password}@127.0.0.1:${port}`,
  });
}

export const findRedis = (say: Say) =>
  firstProgram(REDIS, [
    ['PATH', () => programAt(findOnPath('valkey-server') ?? findOnPath('redis-server'))],
    // On Debian redis-server is a link to a file of redis-tools.
    [
      'system package, unpacked',
      () => fetchDebianPackages('usr/bin/redis-server', ['redis-server', 'redis-tools'], say),
    ],
  ]);
