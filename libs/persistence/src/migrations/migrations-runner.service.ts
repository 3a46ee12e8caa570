import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DataSource, type MigrationInterface, QueryFailedError } from 'typeorm';
import { sessionOptions } from '../database/pool-options.js';
import { quoteIdentifier } from '../rls/quote.js';
import { GLOBAL } from '../rls/table-markers.js';
import { roleOf } from './login-roles.js';
import { MigrationLogger } from './migration-logger.adapter.js';

export type MigrationClass = new () => MigrationInterface;

export interface MigrationTarget {
  schema: string;
  /** Owner login. */
  migrationsDatabaseUrl: string;
  databaseUrl: string;
  workerDatabaseUrl: string;
  /** Oldest first, as classes; each named with its timestamp, `AddDeliveries1767225600000`. */
  migrations: readonly MigrationClass[];
}

export const MIGRATIONS_TABLE = 'rmm_migration';
const TRY_LOCK = `select pg_try_advisory_lock(hashtextextended('rmm.migrations.' || $1, 0)) as locked`;
const LOCK_WAIT_MS = 120_000;
const LOCK_POLL_MS = 100;
const DDL_LOCK_WAIT_MS = 10_000; // statements behind a waiting ALTER TABLE wait too
const CONNECT_TIMEOUT_MS = 5_000;
/** No lock in time; a deadlock, as of two indexes that are created concurrently. */
const MAY_SUCCEED_LATER = ['55P03', '40P01'];
const ATTEMPTS = 6;
const RETRY_AFTER_MS = 1_000;

/**
 * Brings the schema up to date. Safe to be called by many replicas at once: one migrates, the others wait and find
 * nothing left to do. Each migration is a transaction of its own, or may run again after a failure: one that waits too long
 * for a lock, or for the transactions of other schemas (CREATE INDEX CONCURRENTLY), is tried again.
 * @returns the names of the migrations this call ran
 */
export async function runMigrations(target: MigrationTarget): Promise<string[]> {
  return withMigrationLock(target, async (client) => {
    const missing = await missingMigrations(client, target.migrations);
    if (missing.length === 0) return [];
    await prepareMigrationsTable(client, target);
    await withOwner(target, runPending);
    return missing;
  });
}

async function runPending(owner: DataSource): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await owner.runMigrations({ transaction: 'each' });
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || !maySucceedLater(error)) throw error;
    }
    await sleep(RETRY_AFTER_MS);
  }
}

const maySucceedLater = (error: unknown): boolean =>
  error instanceof QueryFailedError && MAY_SUCCEED_LATER.includes((error.driverError as { code?: string }).code ?? '');

/** Takes back the newest `count` migrations, newest first: for specs, and for an operator who must go back. */
export async function revertMigrations(target: MigrationTarget, count: number): Promise<void> {
  await withMigrationLock(target, () =>
    withOwner(target, async (owner) => {
      for (let i = 0; i < count; i++) await owner.undoLastMigration({ transaction: 'each' });
    }),
  );
}

/** @returns names of the migrations that this code knows and the schema has not had; a schema ahead of the code is fine */
export async function missingMigrations(
  client: Pick<pg.ClientBase | pg.Pool, 'query'>,
  migrations: readonly MigrationClass[],
): Promise<string[]> {
  const table = await client.query<{ found: boolean }>(`select to_regclass($1) is not null as found`, [
    MIGRATIONS_TABLE,
  ]);
  const done = new Set<string>();
  if (table.rows[0]?.found) {
    const { rows } = await client.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE}`);
    for (const row of rows) done.add(row.name);
  }
  return migrations.map(nameOf).filter((name) => !done.has(name));
}

function nameOf(migration: MigrationClass): string {
  return new migration().name ?? migration.name;
}

async function withMigrationLock<T>(target: MigrationTarget, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(ownerOptions(target));
  client.on('error', () => undefined); // its queries reject as well
  await client.connect();
  try {
    await waitForLock(client, target.schema);
    return await work(client);
  } finally {
    await client.end(); // the lock ends with its session
  }
}

/** Polls: CREATE INDEX CONCURRENTLY of the process with the lock would wait for a statement that waits for the lock. */
async function waitForLock(client: pg.Client, schema: string): Promise<void> {
  const giveUpAt = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>(TRY_LOCK, [schema]);
    if (rows[0]?.locked) return;
    if (performance.now() > giveUpAt) throw new Error(`Another process has migrated ${schema} for too long`);
    await sleep(LOCK_POLL_MS);
  }
}

async function withOwner<T>(target: MigrationTarget, work: (owner: DataSource) => Promise<T>): Promise<T> {
  const owner = new DataSource({
    type: 'postgres',
    url: target.migrationsDatabaseUrl,
    schema: target.schema,
    migrations: [...target.migrations],
    migrationsTableName: MIGRATIONS_TABLE,
    installExtensions: false,
    logger: new MigrationLogger(),
    extra: { ...ownerOptions(target), lock_timeout: DDL_LOCK_WAIT_MS, max: 1 },
  });
  await owner.initialize();
  try {
    return await work(owner);
  } finally {
    await owner.destroy();
  }
}

function ownerOptions(target: MigrationTarget): pg.ClientConfig {
  return {
    connectionString: target.migrationsDatabaseUrl,
    application_name: `${target.schema}-migrations`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    options: sessionOptions({
      search_path: target.schema,
      timezone: 'UTC',
      'rmm.service_role': roleOf(target.databaseUrl),
      'rmm.worker_role': roleOf(target.workerDatabaseUrl),
    }),
  };
}

/** TypeORM's own table, created beforehand so that the service login may see how far the schema is. */
async function prepareMigrationsTable(client: pg.Client, target: MigrationTarget): Promise<void> {
  const service = quoteIdentifier(roleOf(target.databaseUrl));
  const table = MIGRATIONS_TABLE;
  const { rows } = await client.query<{ found: boolean }>(`select to_regclass($1) is not null as found`, [table]);
  if (rows[0]?.found) return;
  await client.query(`
    begin;
    create table ${table} (id serial primary key, "timestamp" bigint not null, name varchar not null);
    alter table ${table} enable row level security;
    create policy service_select on ${table} for select to ${service} using (true);
    grant select on ${table} to ${service};
    comment on table ${table} is '${GLOBAL}';
    commit`);
}
