import path from 'node:path';
import { debianPackage } from './debian-package.mjs';
import { atLeast, onPath, versionOf } from './executables.mjs';
import { firstThatWorks } from './first-that-works.mjs';

const MINIMUM = [6, 2];
const SERVER = {
  what: 'Redis',
  variable: 'REDIS_URL',
  hint: 'macOS: brew install redis, Debian and Ubuntu: apt-get install redis-server, Fedora: dnf install valkey, Alpine: apk add valkey',
};

/** @returns {Promise<{ bin: string, env: object, from: string }>} a Redis or Valkey server of 6.2 or newer */
export function findRedis(say) {
  return firstThatWorks(SERVER, [
    ['PATH', () => installed()],
    ['system package, unpacked', () => unpacked(say)],
  ]);
}

async function installed() {
  for (const name of ['valkey-server', 'redis-server']) {
    const bin = onPath(name);
    const version = bin && (await versionOf(bin));
    if (version && atLeast(version, MINIMUM)) return { bin, env: {} };
  }
  return null;
}

/** On Debian `redis-server` is a link into redis-tools, so both are asked for. */
async function unpacked(say) {
  const found = await debianPackage('redis-server', ['redis-tools'], say);
  if (!found) return null;
  const bin = path.join(found.root, 'usr/bin/redis-server');
  const version = await versionOf(bin, found.env);
  if (!version) throw new Error('the unpacked redis-server does not run');
  if (!atLeast(version, MINIMUM)) throw new Error(`the distribution has ${version.join('.')}, 6.2 is needed`);
  return { bin, env: found.env };
}
