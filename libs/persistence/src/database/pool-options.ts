import type { ClientBase, PoolConfig } from 'pg';
import { UnnamedStatementsClient } from './unnamed-statements-client.js';

/** Time limits in milliseconds. */
export interface Timeouts {
  /** Until a connection of the pool is available. */
  acquireMs: number;
  statementMs: number;
  lockMs: number;
  /** Until the server ends a transaction in which nothing happens. */
  idleInTransactionMs: number;
}

export const DEFAULT_TIMEOUTS: Readonly<Timeouts> = {
  acquireMs: 5_000,
  statementMs: 10_000,
  lockMs: 5_000,
  idleInTransactionMs: 30_000,
};

/** Time for the server to report a statement timeout itself. */
const REPLY_MARGIN_MS = 2_000;

export interface RuntimePool {
  url: string;
  schema: string;
  max: number;
  applicationName: string;
  timeouts?: Partial<Timeouts>;
  /** Settings of PostgreSQL for every session of the pool. */
  settings?: Readonly<Record<string, string>>;
}

/**
 * Returns the options of a runtime pool (service or worker login). Getting a connection, a lock, a statement and an idle
 * transaction each have a time limit. The client gives up on a server that does not respond.
 */
export function poolOptions(pool: RuntimePool): PoolConfig {
  const { statement_timeout, lock_timeout, idle_in_transaction_session_timeout, ...settings } = sessionSettings(pool);
  return {
    ...clientOptions(pool),
    statement_timeout: Number(statement_timeout),
    lock_timeout: Number(lock_timeout),
    idle_in_transaction_session_timeout: Number(idle_in_transaction_session_timeout),
    options: sessionOptions(settings),
  };
}

/**
 * Returns the options of a runtime pool that leads to a pooler in transaction mode. Two statements of one client may run in
 * two sessions: no statement is named, and `sessionSettings` are the defaults of the role instead of parameters.
 */
export const pooledOptions = (pool: RuntimePool): PoolConfig => ({
  ...clientOptions(pool),
  Client: UnnamedStatementsClient,
});

/**
 * Returns the settings of PostgreSQL for every session of the pool; times in milliseconds. Compiling a statement pays for
 * those that run for seconds, which requests have none of.
 */
export function sessionSettings({ schema, timeouts, settings }: RuntimePool) {
  const { statementMs, lockMs, idleInTransactionMs } = { ...DEFAULT_TIMEOUTS, ...timeouts };
  return {
    ...settings,
    search_path: schema,
    timezone: 'UTC',
    jit: 'off',
    statement_timeout: String(statementMs),
    lock_timeout: String(lockMs),
    idle_in_transaction_session_timeout: String(idleInTransactionMs),
  };
}

function clientOptions({ url, max, applicationName, timeouts }: RuntimePool): PoolConfig {
  const { acquireMs, statementMs } = { ...DEFAULT_TIMEOUTS, ...timeouts };
  return {
    connectionString: url,
    max,
    application_name: applicationName,
    pipeline: true, // queries of one tick are sent together: BEGIN and the tenant context cost one round trip
    connectionTimeoutMillis: acquireMs,
    query_timeout: statementMs + REPLY_MARGIN_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    onConnect: ignoreLostConnection,
  };
}

/** @returns `-c name=value ...`, for the `options` of a connection */
export function sessionOptions(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replace(/[\\ ]/g, '\\$&')}`)
    .join(' ');
}

/** Handles 'error' of a client in use, which would end the process; its query rejects too. */
function ignoreLostConnection(client: ClientBase): void {
  client.on('error', () => undefined);
}
