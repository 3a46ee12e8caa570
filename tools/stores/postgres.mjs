import fs from 'node:fs';
import path from 'node:path';
import { findPostgres } from '../binaries/postgres.mjs';
import { freePort, givePortBack } from '../processes/ports.mjs';
import { sleep } from '../processes/wait.mjs';
import { createCluster } from './postgres-cluster.mjs';
import { leaveNothingBehind, releaseSharedMemory } from './postgres-leftovers.mjs';
import { waitUntilReady } from './ready.mjs';
import { canReach, shelterFor, unprivilegedUser } from './unprivileged.mjs';

const ENVIRONMENT = { LC_ALL: process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8', TZ: 'UTC' };
const THROWAWAY = ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off'];
const ATTEMPTS = 20;

/**
 * Starts a private PostgreSQL on 127.0.0.1 with the superuser `fleet`.
 * @param {import('./context.mjs').StoreContext} context
 * @returns {Promise<{ url: string, version: string, from: string }>}
 */
export async function startPostgres(context) {
  const found = await findPostgres(context.say, majorOf(context.dir));
  const user = unprivilegedUser();
  const { home, bin } = await place(context, found, user);
  if (!fs.existsSync(path.join(home, 'PG_VERSION'))) {
    await createCluster({ home, bin, major: found.major, user, password: context.secret, environment: ENVIRONMENT });
  }
  await leaveNothingBehind(home);

  for (let attempt = 1; ; attempt++) {
    const port = await freePort(context.ports.postgres);
    try {
      await startServer({ context, home, bin, user, port });
      context.ports.postgres = port;
      return {
        url: `postgres://fleet:${context.secret}@127.0.0.1:${port}/postgres`,
        version: String(found.major),
        from: found.from,
      };
    } catch (error) {
      givePortBack(port);
      const blocked = /pre-existing shared memory/.test(error.message);
      const taken = /Address already in use|could not create any TCP/.test(error.message);
      if (attempt === ATTEMPTS || !(blocked || taken)) throw error;
      if (blocked) releaseSharedMemory(home);
      if (taken) context.ports.postgres = undefined;
      await sleep(250);
    }
  }
}

/** An existing data folder decides the version: with a changed PATH the data would otherwise seem to be lost. */
function majorOf(dir) {
  const majors = fs.readdirSync(dir).map((name) => /^pg(\d+)$/.exec(name)?.[1]);
  const found = majors.filter(Boolean).map(Number);
  return found.length ? Math.max(...found) : null;
}

/** Where data and binaries stand so that the user PostgreSQL runs as can reach them. */
async function place(context, found, user) {
  const wanted = path.join(context.dir, `pg${found.major}`);
  if (!user) return { home: wanted, bin: found.bin };
  const [reachesData, reachesBin] = await Promise.all([
    canReach(user, context.dir),
    canReach(user, path.join(found.bin, 'postgres')),
  ]);
  if (reachesData && reachesBin) return { home: wanted, bin: found.bin };

  const shelter = shelterFor(context.dir);
  context.addOutside(shelter);
  return {
    home: reachesData ? wanted : shelteredHome(wanted, shelter),
    bin: reachesBin ? found.bin : copyOfBinaries(found, shelter),
  };
}

function shelteredHome(wanted, shelter) {
  const home = path.join(shelter, path.basename(wanted));
  if (!fs.lstatSync(wanted, { throwIfNoEntry: false })) fs.symlinkSync(home, wanted);
  return home;
}

function copyOfBinaries(found, shelter) {
  const copy = path.join(shelter, `pgbin-${found.major}`);
  const complete = path.join(copy, '.complete');
  if (!fs.existsSync(complete)) {
    fs.rmSync(copy, { recursive: true, force: true });
    fs.cpSync(found.tree ?? path.dirname(found.bin), copy, { recursive: true, verbatimSymlinks: true });
    fs.writeFileSync(complete, '');
  }
  return path.join(copy, 'bin');
}

async function startServer({ context, home, bin, user, port }) {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=300'];
  const args = ['-D', home, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  if (context.throwaway) args.push(...THROWAWAY);
  const logFile = path.join(context.logDir, 'postgres.log');
  const server = context.keeper.start({
    name: 'store:postgres',
    command: path.join(bin, 'postgres'),
    args,
    env: { PATH: process.env.PATH, ...ENVIRONMENT },
    logFile,
    user,
    signal: 'SIGINT', // a fast stop; SIGTERM would wait for every client to leave
  });
  await waitUntilReady('PostgreSQL', server, logFile, () => saysReady(home, server.record.pid));
}

/** Line 1 of the pid file is the server's pid, line 8 its state. */
function saysReady(home, pid) {
  const lines = fs.readFileSync(path.join(home, 'postmaster.pid'), 'utf8').split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}
