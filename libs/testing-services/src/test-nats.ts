import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type StoreAddresses, workspaceRoot } from './addresses.js';
import { freePort, LocalServer } from './local-server.js';
import type { Disposable } from './test-redis.js';

/** A NATS with JetStream of one spec file. Port and store survive stop, kill and start. */
export interface TestNats {
  /** May do everything. User and password are in the URL, as in NATS_URL. */
  adminUrl: string;
  /** Without logins the same as `adminUrl`. */
  url: string;
  /** The URL of one service's login (`identity`, ...), limited by deploy/nats/permissions.json. */
  urlFor(login: string): string;
  /** The address of its monitoring, with `monitored`. */
  monitorUrl?: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  kill(): Promise<void>;
}

export interface NatsOptions {
  /** One login per service with just its permissions, as in production; otherwise one login that may do everything. */
  logins?: boolean;
  /** Storage limit of the streams of the account; none by default. */
  maxStorageBytes?: number;
  /** Serves counters and connections over HTTP. */
  monitored?: boolean;
}

const ADMIN = 'fleet';

export async function startNats(addresses: StoreAddresses, options: NatsOptions = {}): Promise<TestNats & Disposable> {
  const folder = await mkdtemp(path.join(tmpdir(), 'rmm-nats-'));
  const password = randomBytes(12).toString('hex');
  const permissions = options.logins ? await servicePermissions() : {};
  const config = path.join(folder, 'nats.conf');
  const monitor = options.monitored ? `127.0.0.1:${await freePort()}` : undefined;
  await writeFile(config, configuration(folder, password, permissions, options, monitor), { mode: 0o600 });
  const server = new LocalServer({
    name: 'NATS',
    command: addresses.natsBin,
    args: (port) => ['-c', config, '-a', '127.0.0.1', '-p', String(port)],
    env: addresses.natsEnv,
    ready: /INFO \{.*"jetstream":\s*true/,
  });
  await server.start();
  const urlFor = (login: string) => {
    if (login !== ADMIN && !(login in permissions)) throw new Error(`This NATS has no login ${login}`);
    return `nats://${login}:${password}@127.0.0.1:${server.port}`;
  };
  return {
    adminUrl: urlFor(ADMIN),
    url: urlFor(ADMIN),
    urlFor,
    monitorUrl: monitor && `http://${monitor}`,
    stop: () => server.stop(),
    start: () => server.start(),
    kill: () => server.kill(),
    dispose: async () => {
      await server.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configuration(
  folder: string,
  password: string,
  permissions: Record<string, unknown>,
  { maxStorageBytes }: NatsOptions,
  monitor: string | undefined,
): string {
  const users = [
    { user: ADMIN, password },
    ...Object.entries(permissions).map(([user, allowed]) => ({ user, password, permissions: allowed })),
  ];
  return [
    `jetstream { store_dir: ${JSON.stringify(folder)}, max_memory_store: 256MB, max_file_store: 2GB }`,
    ...(monitor === undefined ? [] : [`http: ${JSON.stringify(monitor)}`]),
    maxStorageBytes === undefined
      ? `authorization: ${JSON.stringify({ users })}`
      : `accounts: ${JSON.stringify({ FLEET: { jetstream: { max_file: maxStorageBytes }, users } })}`,
  ].join('\n');
}

/** `{ "<login>": { publish, subscribe, ... } }`, in the words of the NATS configuration. */
async function servicePermissions(): Promise<Record<string, unknown>> {
  const file = path.join(workspaceRoot(), 'deploy/nats/permissions.json');
  if (!existsSync(file)) throw new Error(`${file} is missing: logins cannot be limited`);
  return JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
}
