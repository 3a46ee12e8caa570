import fs from 'node:fs';
import path from 'node:path';
import type { Say } from '../console.js';
import { ensureDir } from '../paths.js';
import { settleAll } from '../processes/run.js';
import { checkRedis } from './clients.js';
import { fetchDebianPackages, findOnPath, firstProgram, programAt, type ServerKind } from './programs.js';
import { formRedisCluster } from './redis-cluster.js';
import { clusterKinds, clusterPorts, startServer, type Store, type StoreContext, storePassword } from './store.js';

export const REDIS: ServerKind = {
  name: 'redis',
  title: 'Redis',
  variable: 'REDIS_URL',
  minimum: '6.2',
  check: checkRedis,
  hint: 'macOS: brew install redis; Debian and Ubuntu: apt-get install redis-server; Fedora: dnf install valkey',
};

/** Servers of a cluster: three that share the keys, and a replica of each. */
const CLUSTER_SIZE = 6;

/** Starts a private server on 127.0.0.1 with a password. */
export function startRedis(context: StoreContext): Promise<Store> {
  return startRedisServer(context, REDIS, 'redis');
}

/** Starts six private servers as a cluster; one of each pair may fail. */
export async function startRedisCluster(context: StoreContext): Promise<Store> {
  const kinds = clusterKinds(REDIS, CLUSTER_SIZE);
  const buses = await clusterPorts(context, kinds);
  const [first, ...others] = await settleAll(
    ...kinds.map((kind, index) => {
      const settings = ['cluster-enabled yes', `cluster-port ${buses[index]}`, 'cluster-node-timeout 3000'];
      settings.push('repl-diskless-sync-delay 0'); // copies to a replica begin at once
      return startRedisServer(context, kind, path.join('redis-cluster', kind.name), settings);
    }),
  );
  const urls = [first, ...others].map(({ url }) => url);
  await formRedisCluster(urls, buses);
  return { ...first, otherHosts: others.map(({ url }) => new URL(url).host) };
}

async function startRedisServer(
  context: StoreContext,
  kind: ServerKind,
  folder: string,
  more: readonly string[] = [],
): Promise<Store> {
  const { bin, env, from } = await findRedis(context.say);
  const dir = ensureDir(path.join(context.dir, folder), 0o700);
  const password = storePassword(context.dir);
  return startServer(context, kind, from, {
    describe: (port) => {
      // The password is in a file because every user of the machine can read the arguments of a process.
      const config = path.join(dir, 'redis.conf');
      const settings = ['bind 127.0.0.1', 'maxmemory-policy noeviction', 'databases 256', 'save ""', 'appendonly yes'];
      const own = [`port ${port}`, `requirepass ${password}`, `masterauth ${password}`, `dir "${dir}"`, ...more];
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
