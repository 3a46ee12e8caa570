import pg from 'pg';
import { type ServiceName, SERVICES } from '../fleet/services.js';
import { withPostgres } from '../stores/clients.js';
import { POSTGRES } from '../stores/postgres.js';
import { isAtLeast } from '../stores/programs.js';
import { loginProblems, migrationsOf, rowSecurityProblems, type ServiceConfig } from './built-code.js';
import { checkClock } from './clock.js';
import type { Configurations } from './configuration.js';
import { reasonOf, type Report } from './finding.js';

const TENANTS = 'rows of one tenant could become visible to another';
/** Kept free for the administrator, besides what PostgreSQL reserves itself. */
const SPARE_CONNECTIONS = 5;

/** Checks every login, row-level security, migrations, the clock and the number of connections. */
export async function checkPostgres(configurations: Configurations, instances: InstanceCounts, report: Report) {
  for (const [service, config] of configurations) await checkService(service, config, report);
  await checkConnections(configurations, instances, report);
  report.checked.push('PostgreSQL');
}

export type InstanceCounts = ReadonlyMap<ServiceName, number>;

async function checkService(service: ServiceName, config: ServiceConfig, report: Report): Promise<void> {
  const { schema } = SERVICES.find(({ name }) => name === service) ?? { schema: service };
  const login = (url: string) => decodeURIComponent(new URL(url).username);
  const { databaseUrl, workerDatabaseUrl, migrationsDatabaseUrl } = config;
  const useLogin = async (variable: string, url: string, work: (client: pg.Client) => Promise<void>) => {
    await withPostgres(url, async (client) => {
      // In a transaction, since a pooler would keep a setting of the session for others.
      await client.query('BEGIN READ ONLY');
      await client.query('SELECT set_config($1, $2, true)', ['search_path', schema]);
      await work(client);
      await client.query('COMMIT');
    }).catch((error: unknown) => report.problem(service, unusable(variable, url, error)));
  };
  const refuseLogin = (variable: string, what: string) =>
    report.problem(service, {
      what: `${variable}: ${what}`,
      why: `${TENANTS}; the service refuses to start`,
      action: 'correct the role as deploy/docker/init-database.sh creates it',
    });

  await useLogin('DATABASE_URL', databaseUrl, async (client) => {
    const rules = { schema, mustNotBecome: login(workerDatabaseUrl) };
    for (const what of await loginProblems(client, rules)) refuseLogin('DATABASE_URL', what);
    await checkServer(client, report);
    await checkMigrations(client, service, report);
    for (const what of await rowSecurityProblems(client, schema)) {
      report.problem(service, {
        what: `schema ${schema}: ${what}`,
        why: TENANTS,
        action: 'undo the change that was made by hand; migrations set it correctly',
      });
    }
  });
  await useLogin('WORKER_DATABASE_URL', workerDatabaseUrl, async (client) => {
    const rules = { schema, mustActAs: login(databaseUrl) };
    for (const what of await loginProblems(client, rules)) refuseLogin('WORKER_DATABASE_URL', what);
  });
  if (!migrationsDatabaseUrl) return;
  await useLogin('MIGRATIONS_DATABASE_URL', migrationsDatabaseUrl, async (client) => {
    const query = 'SELECT rolsuper OR rolbypassrls AS exempt FROM pg_roles WHERE rolname = current_user';
    const { rows } = await client.query<{ exempt: boolean }>(query);
    if (rows[0]?.exempt)
      refuseLogin('MIGRATIONS_DATABASE_URL', `${login(migrationsDatabaseUrl)} is a superuser or has BYPASSRLS`);
  });
}

/** SQLSTATE of a failed log-in, and what the operator can do. */
const REMEDIES: Record<string, string> = {
  '28P01': 'set the password of the login: ALTER ROLE ... PASSWORD, or correct the variable',
  '28000': 'allow the login in pg_hba.conf, or correct the variable',
  '3D000': 'create the database, or correct its name in the variable',
  '42501': 'GRANT CONNECT ON DATABASE to the login',
  '53300': 'raise max_connections, or lower DB_POOL_MAX and the number of replicas',
};

function unusable(variable: string, text: string, error: unknown) {
  const { username, host } = new URL(text);
  return {
    what: `${variable}: ${decodeURIComponent(username)} cannot use ${host}: ${reasonOf(error)}`,
    why: 'the service is not ready without it',
    action:
      REMEDIES[(error as pg.DatabaseError).code ?? ''] ?? 'start PostgreSQL, or correct the address and the firewall',
  };
}

async function checkServer(client: pg.Client, report: Report): Promise<void> {
  const from = Date.now();
  const query = "SELECT current_setting('server_version') AS version, clock_timestamp() AS now";
  const { rows } = await client.query<{ version: string; now: Date }>(query);
  const [server] = rows;
  if (!server || report.checked.includes('clock of PostgreSQL')) return;
  report.checked.push('clock of PostgreSQL');
  checkClock('PostgreSQL', server.now.getTime(), from, report);
  if (isAtLeast(server.version, POSTGRES.minimum)) return;
  report.problem('PostgreSQL', {
    what: `version ${server.version} is older than ${POSTGRES.minimum}`,
    why: 'migrations use what it does not have',
    action: 'upgrade PostgreSQL',
  });
}

async function checkMigrations(client: pg.Client, service: ServiceName, report: Report): Promise<void> {
  const built = await migrationsOf(service);
  const { rows: tables } = await client.query<{ found: boolean }>(
    "SELECT to_regclass('rmm_migration') IS NOT NULL AS found",
  );
  const { rows } = tables[0]?.found
    ? await client.query<{ name: string }>('SELECT name FROM rmm_migration')
    : { rows: [] };
  const applied = rows.map(({ name }) => name);
  const missing = built.filter((name) => !applied.includes(name));
  const ahead = applied.filter((name) => !built.includes(name));
  if (missing.length) {
    report.problem(service, {
      what: `${missing.length} of ${built.length} migrations are missing: ${shortenList(missing)}`,
      why: 'the service refuses to start, or its statements fail',
      action: `run node apps/${service}/dist/migrate.js with MIGRATIONS_DATABASE_URL`,
    });
  }
  if (ahead.length) {
    report.note(service, {
      what: `the schema has migrations that this build does not know: ${shortenList(ahead)}`,
      why: 'another version runs next to this one, or this one is older than what ran before',
      action: 'complete the upgrade: docs/guides/upgrade.md',
    });
  }
}

const shortenList = (names: string[]): string => `${names.slice(0, 3).join(', ')}${names.length > 3 ? ', ...' : ''}`;

/** Compares what all pools may open with what the server allows. */
async function checkConnections(configurations: Configurations, instances: InstanceCounts, report: Report) {
  const [first] = [...configurations.values()];
  if (!first) return;
  // The worker login has two pools: one for work across tenants, one for platform administrators.
  const wanted = [...configurations].map(
    ([name, { pools }]) => (pools.serviceMax + 2 * pools.workerMax) * Math.max(1, instances.get(name) ?? 1),
  );
  const sum = wanted.reduce((a, b) => a + b, SPARE_CONNECTIONS);
  const query =
    "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS max";
  const max = await withPostgres(first.databaseUrl, async (client) => {
    const { rows } = await client.query<{ max: number }>(query);
    return rows[0]?.max ?? Infinity;
  }).catch(() => Infinity); // that it cannot be used is reported already
  if (sum <= max) return;
  report.note('PostgreSQL', {
    what: `the pools may open ${sum} connections, the server allows ${max}`,
    why: 'under load requests fail with 503',
    action: 'raise max_connections, or lower DB_POOL_MAX and WORKER_DB_POOL_MAX',
  });
}
