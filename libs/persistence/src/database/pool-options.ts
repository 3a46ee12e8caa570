import type { ClientBase, PoolConfig } from 'pg';

export const STATEMENT_TIMEOUT_MS = 10_000;
const ACQUIRE_TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 5_000;
const IDLE_IN_TRANSACTION_MS = 30_000;

/**
 * The options of a runtime pool (service or worker login). Nothing waits for ever: getting a connection, a lock, a
 * statement and an idle transaction each have an end. A statement that the server does not even answer is given up by
 * the client shortly after the server should have done so.
 */
export function poolOptions(url: string, schema: string, max: number, applicationName: string): PoolConfig {
  return {
    connectionString: url,
    max,
    application_name: applicationName,
    pipeline: true, // queries of one tick leave together: BEGIN and the tenant context cost one round trip
    connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 2_000,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    options: sessionOptions({ search_path: schema, timezone: 'UTC' }),
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
