import fs from 'node:fs';
import path from 'node:path';
import { findNats } from '../binaries/nats.mjs';
import { makeDir } from '../paths.mjs';
import { freePort, givePortBack } from '../processes/ports.mjs';
import { probeNats } from './probe-nats.mjs';
import { waitUntilReady } from './ready.mjs';

const ATTEMPTS = 5;

/**
 * Starts a private NATS with JetStream on 127.0.0.1.
 * @param {import('./context.mjs').StoreContext} context
 * @param {string} authorization  the block of the configuration that says who may log in; by default one login, `fleet`
 * @returns {Promise<{ url: string, version: string, from: string, bin: string }>} `url` carries the login `fleet`
 */
export async function startNats(context, authorization = soleLogin(context.secret)) {
  const { bin, from } = await findNats(context.say);
  const dir = makeDir(path.join(context.dir, 'nats'), 0o700);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(context.ports.nats);
    const url = `nats://fleet:${context.secret}@127.0.0.1:${port}`;
    try {
      const version = await startServer({ context, bin, dir, port, url, authorization });
      context.ports.nats = port;
      return { url, version, from, bin };
    } catch (error) {
      givePortBack(port);
      context.ports.nats = undefined;
      if (attempt === ATTEMPTS || !/address already in use/.test(error.message)) throw error;
    }
  }
}

const soleLogin = (secret) => `authorization { user: fleet, password: ${JSON.stringify(secret)} }`;

async function startServer({ context, bin, dir, port, url, authorization }) {
  const config = path.join(dir, 'nats.conf');
  fs.writeFileSync(config, configuration({ dir, port, authorization, throwaway: context.throwaway }), { mode: 0o600 });
  const logFile = path.join(context.logDir, 'nats.log');
  const server = context.keeper.start({ name: 'store:nats', command: bin, args: ['-c', config], env: {}, logFile });
  let version;
  await waitUntilReady('NATS', server, logFile, async () => (version = (await probeNats(url)).version));
  return version;
}

/** Without limits JetStream would take most of the memory and of the free disk as its quota. */
function configuration({ dir, port, authorization, throwaway }) {
  const sync = throwaway ? '' : ', sync_interval: "10s"';
  return [
    `listen: "127.0.0.1:${port}"`,
    'server_name: fleet',
    'max_payload: 1MB',
    `jetstream { store_dir: ${JSON.stringify(dir)}, max_file_store: 4GB, max_memory_store: 256MB${sync} }`,
    authorization,
    '',
  ].join('\n');
}
