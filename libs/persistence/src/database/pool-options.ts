import type { ClientBase, PoolConfig } from 'pg';

/** How long is waited for what, in milliseconds. */
export interface Timeouts {
  /** For a connection of the pool. */
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

/** What the server has beyond a statement's time to say itself that it took too long. */
const ANSWER_MARGIN_MS = 2_000;

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
 * The options of a runtime pool (service or worker login). Nothing waits for ever: getting a connection, a lock, a
 * statement and an idle transaction each have an end. A server that does not even answer is given up by the client.
 */
export function poolOptions({ url, schema, max, applicationName, timeouts, settings }: RuntimePool): PoolConfig {
  const { acquireMs, statementMs, lockMs, idleInTransactionMs } = { ...DEFAULT_TIMEOUTS, ...timeouts };
  return {
    connectionString: url,
    max,
    application_name: applicationName,
    pipeline: true, // queries of one tick leave together: BEGIN and the tenant context cost one round trip
    connectionTimeoutMillis: acquireMs,
    statement_timeout: statementMs,
    query_timeout: statementMs + ANSWER_MARGIN_MS,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    options: sessionOptions({ ...settings, search_path: schema, timezone: 'UTC' }),
    onConnect: surviveLostConnection,
  };
}

/** @returns `-c name=value ...`, for the `options` of a connection */
export function sessionOptions(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replace(/[\\ ]/g, '\\$&')}`)
    .join(' ');
}

/** A client in use has no other listener, and an 'error' without one would end the process. Its query rejects too. */
function surviveLostConnection(client: ClientBase): void {
  client.on('error', () => undefined);
}
