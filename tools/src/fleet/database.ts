import { withPostgres } from '../stores/clients.js';
import { SERVICES, type ServiceName } from './services.js';

const DATABASE = 'rmm_fleet';

/** The logins of a service: owner for migrations, service, and worker for work across tenants. */
const LOGINS = SERVICES.flatMap(({ name, schema }) =>
  Object.entries({ owner: '_owner', service: '', worker: '_worker' }).map(([role, suffix]) => {
    return { service: name, schema, role, login: `rmm_${schema}${suffix}` };
  }),
);

export type FleetDatabase = ReturnType<typeof fleetDatabase>;

/** Creates the database, the logins and the schemas that are missing, and sets the passwords (`<schema>.<role>`). */
export async function prepareDatabase(adminUrl: string, passwords: Record<string, string>): Promise<FleetDatabase> {
  await withPostgres(adminUrl, async (client) => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
    if (!rowCount) await client.query(`CREATE DATABASE ${DATABASE} ENCODING 'UTF8' TEMPLATE template0`);
    const { rows } = await client.query<{ rolname: string }>('SELECT rolname FROM pg_roles');
    const statements = LOGINS.map(({ login, schema, role }) => {
      const verb = rows.some(({ rolname }) => rolname === login) ? 'ALTER' : 'CREATE';
      const rights = 'LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE';
      return `${verb} ROLE ${login} WITH ${rights} PASSWORD '${passwords[`${schema}.${role}`]}'`;
    });
    await client.query(statements.join(';\n'));
  });
  const database = fleetDatabase(adminUrl, passwords);
  const grants = [
    'REVOKE CREATE ON SCHEMA public FROM public',
    `REVOKE CONNECT ON DATABASE ${DATABASE} FROM public`,
    ...LOGINS.map(({ login }) => `GRANT CONNECT ON DATABASE ${DATABASE} TO ${login}`),
    ...SERVICES.flatMap(({ schema }) => [
      `GRANT rmm_${schema} TO rmm_${schema}_worker`, // in whose sessions platform administrators are served
      `GRANT rmm_${schema}_owner TO current_user`, // only a superuser may transfer a schema to a role it is not in
      `CREATE SCHEMA IF NOT EXISTS ${schema} AUTHORIZATION rmm_${schema}_owner`,
      `GRANT USAGE ON SCHEMA ${schema} TO rmm_${schema}, rmm_${schema}_worker`,
    ]),
  ];
  await withPostgres(database.url, (client) => client.query(grants.join(';\n')));
  return database;
}

/** Settings that a service cannot ask a pooler for; it checks at its start that its sessions have them. */
const POOLED_DEFAULTS = {
  timezone: 'UTC',
  jit: 'off',
  statement_timeout: '10s',
  lock_timeout: '5s',
  idle_in_transaction_session_timeout: '30s',
};
const DISPATCHER_WORKER_DEFAULTS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** Sets the defaults of the logins that go through a pooler in transaction mode. */
export async function setPooledDefaults({ url }: FleetDatabase): Promise<void> {
  const statements = LOGINS.filter(({ role }) => role !== 'owner').flatMap(({ login, schema, service, role }) => {
    const own = service === 'webhook-dispatcher' && role === 'worker' ? DISPATCHER_WORKER_DEFAULTS : {};
    const settings = { search_path: schema, ...POOLED_DEFAULTS, ...own };
    return Object.entries(settings).map(
      ([name, value]) => `ALTER ROLE ${login} IN DATABASE ${DATABASE} SET ${name} = '${value}'`,
    );
  });
  await withPostgres(url, (client) => client.query(statements.join(';\n')));
}

/** Returns the addresses of the database for the administrator and for the logins of each service. */
export function fleetDatabase(adminUrl: string, passwords: Record<string, string>) {
  const urlFor = (login?: string, password?: string): string => {
    const url = Object.assign(new URL(adminUrl), { pathname: `/${DATABASE}` });
    return String(login ? Object.assign(url, { username: login, password }) : url);
  };
  const urlsOf = (name: ServiceName) => {
    const own = LOGINS.filter(({ service }) => service === name);
    const urls = own.map(({ schema, role, login }) => [role, urlFor(login, passwords[`${schema}.${role}`])]);
    return Object.fromEntries(urls) as Record<'owner' | 'service' | 'worker', string>;
  };
  return { url: urlFor(), urlsOf };
}
