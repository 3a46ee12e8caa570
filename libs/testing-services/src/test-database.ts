import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';

/** The three logins of one schema, as connection URLs. */
export interface SchemaUrls {
  /** Owns the schema: MIGRATIONS_DATABASE_URL. */
  owner: string;
  /** DATABASE_URL. */
  service: string;
  /** WORKER_DATABASE_URL. */
  worker: string;
}

/** A database of one spec file, set up as the launcher sets up the fleet's. */
export interface TestDatabase<Schema extends string = string> {
  /** Superuser: for arranging and looking, never for what is under test. */
  adminUrl: string;
  urls: Record<Schema, SchemaUrls>;
  drop(): Promise<void>;
}

/** Fills a database before the spec file gets it. */
export interface Preparation<Schema extends string = string> {
  /** Differs whenever `run` leads to another result. */
  key: string;
  run: (urls: Record<Schema, SchemaUrls>) => Promise<unknown>;
}

const ROLE_LOCK = 'rmm.testing.roles';
const LOGINS = ['owner', 'service', 'worker'] as const;

/**
 * Creates a database. The first caller of a preparation runs it, the later ones copy the result: migrations take ten times
 * as long as a copy.
 * @param postgresUrl a login that may create roles and databases
 */
export async function createDatabase<Schema extends string>(
  postgresUrl: string,
  schemas: readonly Schema[],
  preparation?: Preparation<Schema>,
): Promise<TestDatabase<Schema>> {
  if (!preparation) return createEmptyDatabase(postgresUrl, schemas);
  const name = freshName();
  await asAdmin(postgresUrl, async (admin) => {
    const template = await preparedTemplate(admin, postgresUrl, schemas, preparation);
    // A copy of the files takes a third of the time of the default, which writes each page to the log.
    await admin.query(`create database ${name} template ${template} strategy file_copy`);
  });
  return handleOf(postgresUrl, name, schemas);
}

/** Creates the template of a preparation unless it exists; its name is given once it is complete. @returns its name */
async function preparedTemplate<Schema extends string>(
  admin: pg.Client,
  postgresUrl: string,
  schemas: readonly Schema[],
  { key, run }: Preparation<Schema>,
): Promise<string> {
  const hash = createHash('sha256')
    .update(JSON.stringify([schemas, key]))
    .digest('hex');
  const template = `rmm_template_${hash.slice(0, 32)}`;
  await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [template]);
  const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [template]);
  if (!rowCount) {
    const database = await createEmptyDatabase(postgresUrl, schemas);
    await run(database.urls);
    await admin.query(`alter database ${nameOf(database.adminUrl)} rename to ${template}`);
  }
  await admin.query('select pg_advisory_unlock(hashtextextended($1, 0))', [template]);
  return template;
}

async function createEmptyDatabase<Schema extends string>(
  postgresUrl: string,
  schemas: readonly Schema[],
): Promise<TestDatabase<Schema>> {
  const name = freshName();
  await asAdmin(postgresUrl, async (admin) => {
    await createRoles(admin, schemas);
    await admin.query(`create database ${name} template template0 encoding 'UTF8'`);
  });
  const adminUrl = at(postgresUrl, name);
  await asAdmin(adminUrl, async (admin) => {
    await admin.query('revoke all on schema public from public');
    for (const schema of schemas) {
      await admin.query(`create schema "${schema}" authorization ${roleName(schema, 'owner')}`);
      await admin.query(
        `grant usage on schema "${schema}" to ${roleName(schema, 'service')}, ${roleName(schema, 'worker')}`,
      );
    }
  });
  return handleOf(postgresUrl, name, schemas);
}

const freshName = (): string => `rmm_test_${process.pid}_${randomBytes(4).toString('hex')}`;
const nameOf = (url: string): string => new URL(url).pathname.slice(1);

function handleOf<Schema extends string>(
  postgresUrl: string,
  name: string,
  schemas: readonly Schema[],
): TestDatabase<Schema> {
  const adminUrl = at(postgresUrl, name);
  const urls = Object.fromEntries(schemas.map((schema) => [schema, urlsOf(adminUrl, schema)]));
  return {
    adminUrl,
    urls: urls as Record<Schema, SchemaUrls>,
    drop: () => asAdmin(postgresUrl, (admin) => admin.query(`drop database if exists ${name} with (force)`)),
  };
}

/**
 * Connections for arranging and looking; the caller ends them. `end()` of a pool does not wait until they are closed:
 * an error of one of them when the database is dropped right afterwards is ignored.
 */
export function adminPool({ adminUrl }: TestDatabase, options: Omit<pg.PoolConfig, 'connectionString'> = {}): pg.Pool {
  return new pg.Pool({ max: 2, ...options, connectionString: adminUrl }).on('error', () => undefined);
}

/**
 * Roles belong to the cluster, not to the database: all spec files share them, so their passwords are derived from
 * their names, and the first spec file to come creates them while the others wait.
 */
async function createRoles(admin: pg.Client, schemas: readonly string[]): Promise<void> {
  await admin.query(`select pg_advisory_lock(hashtextextended($1, 0))`, [ROLE_LOCK]);
  const roles = schemas.flatMap((schema) => LOGINS.map((login) => roleName(schema, login)));
  const { rows } = await admin.query<{ rolname: string }>('select rolname from pg_roles where rolname = any ($1)', [
    roles,
  ]);
  const known = new Set(rows.map((row) => row.rolname));
  for (const role of roles) {
    if (!known.has(role)) await admin.query(`create role ${role} login noinherit password '${passwordOf(role)}'`);
  }
  // The worker login acts in the role of the service login for platform administrators.
  for (const schema of schemas) {
    await admin.query(`grant ${roleName(schema, 'service')} to ${roleName(schema, 'worker')}`);
  }
  await admin.query(`select pg_advisory_unlock(hashtextextended($1, 0))`, [ROLE_LOCK]);
}

async function asAdmin(url: string, work: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

function urlsOf(adminUrl: string, schema: string): SchemaUrls {
  const urlOf = (login: (typeof LOGINS)[number]) => {
    const url = new URL(adminUrl);
    url.username = roleName(schema, login);
    url.password = passwordOf(url.username);
    return url.href;
  };
  return { owner: urlOf('owner'), service: urlOf('service'), worker: urlOf('worker') };
}

/** Unlike the launcher's names on purpose: code that hard-codes those fails here. */
function roleName(schema: string, login: (typeof LOGINS)[number]): string {
  if (!/^[a-z_]+$/.test(schema)) throw new Error(`Not a schema name: ${schema}`);
  return `rmm_test_${schema}_${login}`;
}

function passwordOf(role: string): string {
  return createHash('sha256').update(`rmm testing ${role}`).digest('hex').slice(0, 24);
}

function at(url: string, database: string): string {
  const moved = new URL(url);
  moved.pathname = `/${database}`;
  return moved.href;
}
