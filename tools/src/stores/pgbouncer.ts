import fs from 'node:fs';
import path from 'node:path';
import type { FleetDatabase } from '../fleet/database.js';
import { SERVICES } from '../fleet/services.js';
import { ensureDir, TOOLS_DIR } from '../paths.js';
import { withPostgres } from './clients.js';
import { unprivileged } from './postgres.js';
import { findOnPath, firstProgram, programAt, type Program, type ServerKind } from './programs.js';
import { startServer, type Store, type StoreContext, storePassword } from './store.js';

const PGBOUNCER: ServerKind = {
  name: 'pgbouncer',
  title: 'PgBouncer',
  variable: 'PGBOUNCER_PATH',
  minimum: '1.18',
  check: (url) =>
    withPostgres(url, async (client) => {
      const { rows } = await client.query<{ version: string }>('SHOW VERSION');
      return rows[0]?.version.replace('PgBouncer ', '') ?? '';
    }),
  hint: '.ci/install-pgbouncer unpacks the package of Debian or Ubuntu; macOS: brew install pgbouncer',
};

/** Fewer than the services use at a time, so that transactions of different clients take turns on one session. */
const SERVER_CONNECTIONS = 2;

/**
 * Starts a private PgBouncer in transaction mode, through which the service and worker logins reach the database.
 * @returns the address of its console
 */
export async function startPgBouncer(context: StoreContext, database: FleetDatabase): Promise<Store> {
  const { bin, env, from } = await findPgBouncer();
  const dir = ensureDir(path.join(context.dir, 'pgbouncer'), 0o700);
  const password = storePassword(context.dir);
  return startServer(context, PGBOUNCER, from, {
    describe: (port) => {
      const users = path.join(dir, 'users.txt');
      const config = path.join(dir, 'pgbouncer.ini');
      const { hostname, port: serverPort, pathname } = new URL(database.url);
      const logins = SERVICES.map(({ name }) => database.urlsOf(name)).flatMap(({ service, worker }) =>
        [service, worker].map((url) => new URL(url)),
      );
      const lines = logins.map(({ username, password: own }) => `"${username}" "${own}"`);
      fs.writeFileSync(users, [...lines, `"fleet" "${password}"`, ''].join('\n'), { mode: 0o600 });
      const settings = {
        listen_addr: '127.0.0.1',
        listen_port: port,
        unix_socket_dir: '',
        auth_type: 'scram-sha-256',
        auth_file: users,
        admin_users: 'fleet',
        pool_mode: 'transaction',
        default_pool_size: SERVER_CONNECTIONS,
        max_client_conn: 500,
      };
      const own = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
      const target = `${pathname.slice(1)} = host=${hostname} port=${serverPort}`;
      fs.writeFileSync(config, ['[databases]', target, '[pgbouncer]', ...own, ''].join('\n'), { mode: 0o600 });
      return { ...unprivileged(bin, [config]), env };
    },
    urlOf: (port) => `postgres://fleet:${password}@127.0.0.1:${port}/pgbouncer`,
  });
}

const findPgBouncer = () =>
  firstProgram(PGBOUNCER, [
    ['PGBOUNCER_PATH', () => programAt(process.env['PGBOUNCER_PATH'] ?? null)],
    ['installed', () => programAt(findOnPath('pgbouncer', ['/usr/sbin']))], // Debian's folder
    ['unpacked', findUnpacked],
  ]);

/** Finds what `.ci/install-pgbouncer` has unpacked. */
function findUnpacked(): Program | null {
  const root = path.join(TOOLS_DIR, 'pgbouncer');
  const bin = path.join(root, 'usr/sbin/pgbouncer');
  return fs.existsSync(bin) ? { bin, env: { LD_LIBRARY_PATH: path.join(root, 'lib') } } : null;
}
