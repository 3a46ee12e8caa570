import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import pg, { type Pool, type PoolConfig } from 'pg';
import { DataSource, type ObjectLiteral } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { type FleetConfig, StartRefusal } from '@rmm/service-kit';
import { DatabaseSession } from '../database/database-session.js';
import { DatabaseConnectionLost, fromDriver } from '../database/database.errors.js';
import {
  pooledOptions,
  poolOptions,
  type RuntimePool,
  sessionSettings,
  type Timeouts,
} from '../database/pool-options.js';
import { roleOf } from '../migrations/login-roles.js';
import { type MigrationClass, missingMigrations, runMigrations } from '../migrations/migrations-runner.service.js';
import { loginProblems } from './login-problems.js';
import { poolerProblems } from './pooler-problems.js';

export type PersistenceConfig = Pick<
  FleetConfig,
  'service' | 'databaseUrl' | 'migrationsDatabaseUrl' | 'workerDatabaseUrl' | 'directWorkerDatabaseUrl' | 'pools'
>;

export interface PersistenceOptions {
  config: PersistenceConfig;
  /** The service's own schema. */
  schema: string;
  entities: readonly (new () => ObjectLiteral)[];
  /** Oldest first, as classes. */
  migrations: readonly MigrationClass[];
  /** Replaces single values of DEFAULT_TIMEOUTS. */
  timeouts?: Partial<Timeouts>;
  /** PostgreSQL settings for the sessions of the worker login. */
  workerSettings?: Readonly<Record<string, string>>;
}

type Login = 'service' | 'worker' | 'platform';

/** Refuses the start of a service; the message lists every reason. */
export class StartRefused extends StartRefusal {
  constructor(problems: readonly string[]) {
    super(`The service cannot start on this database:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/**
 * The open pools of one process: TypeORM's for the service login, small ones for the worker login and for the requests of
 * platform administrators, in which the worker login acts in the role of the service login.
 */
export class Databases {
  private constructor(
    readonly dataSource: DataSource,
    readonly servicePool: Pool,
    readonly workerPool: Pool,
    /** For tenant contexts of scope `system`. */
    readonly platformPool: Pool,
    private readonly options: PersistenceOptions,
  ) {}

  /** Opens a connection of the worker login outside the pool. @throws DatabaseConnectionLost */
  openSession(purpose: string): Promise<DatabaseSession> {
    const { config } = this.options;
    return DatabaseSession.open({
      ...poolOptions({ ...runtimePool(this.options, 'worker'), url: directWorkerUrl(config) }),
      application_name: `${config.service}-${purpose}`,
    });
  }

  /**
   * Connects, checks both logins, migrates (or checks that the schema is up to date).
   * @throws StartRefused; the driver's error when the database cannot be reached
   */
  static async open(options: PersistenceOptions): Promise<Databases> {
    const workerPool = openPool(options, 'worker');
    const platformPool = openPool(options, 'platform');
    const dataSource = serviceDataSource(options);
    try {
      await dataSource.initialize();
      const databases = new Databases(
        dataSource,
        (dataSource.driver as PostgresDriver).master as Pool,
        workerPool,
        platformPool,
        options,
      );
      await databases.assertLogins(options);
      await databases.bringUpToDate(options);
      return databases;
    } catch (error) {
      await Promise.all([workerPool.end(), platformPool.end()]);
      if (dataSource.isInitialized) await dataSource.destroy();
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.dataSource.destroy(), this.workerPool.end(), this.platformPool.end()]);
  }

  private async assertLogins(options: PersistenceOptions): Promise<void> {
    const { config, schema } = options;
    const [service, worker] = [roleOf(config.databaseUrl), roleOf(config.workerDatabaseUrl)];
    const problems = await Promise.all([
      loginProblems(this.servicePool, { schema, mustNotBecome: worker }),
      loginProblems(this.workerPool, { schema, mustActAs: service }),
    ]);
    const named = problems.flatMap((found, i) =>
      found.map((p) => `${i === 0 ? 'DATABASE_URL' : 'WORKER_DATABASE_URL'}: ${p}`),
    );
    if (isPooled(config)) named.push(...(await this.poolerProblems(options)));
    if (named.length > 0) throw new StartRefused(named);
  }

  private async poolerProblems(options: PersistenceOptions): Promise<string[]> {
    const { config } = options;
    const worker = roleOf(config.workerDatabaseUrl);
    const problems = await Promise.all([
      poolerProblems(this.servicePool, sessionSettings(runtimePool(options, 'service'))),
      poolerProblems(this.workerPool, sessionSettings(runtimePool(options, 'worker'))),
    ]);
    if (roleOf(directWorkerUrl(config)) === worker) return problems.flat();
    return [...problems.flat(), `DIRECT_WORKER_DATABASE_URL must have the login of WORKER_DATABASE_URL, ${worker}`];
  }

  private async bringUpToDate({ config, schema, migrations }: PersistenceOptions): Promise<void> {
    const { migrationsDatabaseUrl, databaseUrl, workerDatabaseUrl } = config;
    if (migrationsDatabaseUrl !== undefined) {
      await runMigrations({ schema, migrations, migrationsDatabaseUrl, databaseUrl, workerDatabaseUrl });
      return;
    }
    const missing = await missingMigrations(this.servicePool, migrations);
    if (missing.length === 0) return;
    throw new StartRefused([
      `the schema ${schema} has migrations missing (${missing.join(', ')}): start once with MIGRATIONS_DATABASE_URL set`,
    ]);
  }
}

const OPEN_TIMEOUT_MS = 30_000;
const RETRY_MS = 500;
/** A failure that lasts is logged every five seconds. */
const ATTEMPTS_PER_LOG_LINE = 10;

/** Opens the databases, retrying while the server is starting too. @throws StartRefused, or the last failure */
export async function openDatabases(options: PersistenceOptions, timeoutMs = OPEN_TIMEOUT_MS): Promise<Databases> {
  const logger = new Logger('Persistence');
  const deadline = performance.now() + timeoutMs;
  const { host } = new URL(options.config.databaseUrl);
  for (let attempt = 0; ; attempt++) {
    try {
      return await Databases.open(options);
    } catch (error) {
      const retryable = !(error instanceof StartRefused) && fromDriver(error) instanceof DatabaseConnectionLost;
      if (!retryable || performance.now() + RETRY_MS > deadline) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      if (attempt % ATTEMPTS_PER_LOG_LINE === 0) {
        logger.warn(`Connecting to the database ${host} failed (${code ?? message}); it is tried every ${RETRY_MS} ms`);
      }
      await sleep(RETRY_MS);
    }
  }
}

function serviceDataSource(options: PersistenceOptions): DataSource {
  const { config, schema, entities } = options;
  return new DataSource({
    type: 'postgres',
    url: config.databaseUrl,
    schema,
    entities: [...entities],
    installExtensions: false,
    uuidExtension: 'pgcrypto', // gen_random_uuid(), which is built in
    extra: pgOptions(options, 'service'),
    poolErrorHandler: () => undefined, // an idle connection was lost; the next use opens a new one
  });
}

function openPool(options: PersistenceOptions, login: 'worker' | 'platform'): Pool {
  const pool = new pg.Pool(pgOptions(options, login));
  return pool.on('error', () => undefined); // an idle connection was lost; the next use opens a new one
}

const isPooled = ({ directWorkerDatabaseUrl }: PersistenceConfig): boolean => directWorkerDatabaseUrl !== undefined;

/** Returns the address for what needs a session of its own: session locks, and sessions in the role of the service. */
const directWorkerUrl = ({ directWorkerDatabaseUrl, workerDatabaseUrl }: PersistenceConfig): string =>
  directWorkerDatabaseUrl ?? workerDatabaseUrl;

/** Returns the options of the pool; the platform pool never leads to a pooler, since its sessions have a role. */
function pgOptions(options: PersistenceOptions, login: Login): PoolConfig {
  const pool = runtimePool(options, login);
  return isPooled(options.config) && login !== 'platform' ? pooledOptions(pool) : poolOptions(pool);
}

function runtimePool({ config, schema, timeouts, workerSettings }: PersistenceOptions, login: Login): RuntimePool {
  const { service, databaseUrl, workerDatabaseUrl, pools } = config;
  const common = { schema, timeouts };
  switch (login) {
    case 'service':
      return { ...common, url: databaseUrl, max: pools.serviceMax, applicationName: service };
    case 'worker':
      return {
        ...common,
        url: workerDatabaseUrl,
        max: pools.workerMax,
        applicationName: `${service}-worker`,
        settings: workerSettings,
      };
    case 'platform':
      return {
        ...common,
        url: directWorkerUrl(config),
        max: pools.workerMax,
        applicationName: `${service}-platform`,
        settings: { role: roleOf(databaseUrl) },
      };
  }
}
