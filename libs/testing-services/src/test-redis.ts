import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { StoreAddresses } from './addresses.js';
import { LocalServer } from './local-server.js';

/** A Redis of one spec file. It keeps its keys over stop and start (append-only file), as in production. */
export interface TestRedis {
  /** With password. */
  url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  kill(): Promise<void>;
}

export interface Disposable {
  dispose(): Promise<void>;
}

export async function startRedis(addresses: StoreAddresses): Promise<TestRedis & Disposable> {
  const folder = await mkdtemp(path.join(tmpdir(), 'rmm-redis-'));
  const password = randomBytes(12).toString('hex');
  const config = path.join(folder, 'redis.conf');
  const settings = [
    'bind 127.0.0.1',
    `dir "${folder}"`,
    `requirepass ${password}`,
    'save ""',
    'appendonly yes',
    'appendfsync everysec',
    'maxmemory-policy noeviction',
  ];
  await writeFile(config, settings.join('\n'), { mode: 0o600 });
  const server = new LocalServer({
    name: 'Redis',
    command: addresses.redisBin,
    args: (port) => [config, '--port', String(port)],
    env: addresses.redisEnv,
    greeting: `AUTH ${password}\r\nPING\r\n`,
    ready: /\+PONG/,
  });
  await server.start();
  return {
    url: `redis://:${password}@127.0.0.1:${server.port}`,
    stop: () => server.stop(),
    start: () => server.start(),
    kill: () => server.kill(),
    dispose: async () => {
      await server.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
