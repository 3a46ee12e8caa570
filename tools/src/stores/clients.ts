import type { NatsConnection } from 'nats';
import type pg from 'pg';
import { ignore } from '../console.js';

// Drivers are loaded when they are used: most commands talk to no store, and take a third less time without them.

export async function withPostgres<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const { Client } = (await import('pg')).default;
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', ignore); // the query that waits rejects
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function withNats<T>(url: string, work: (connection: NatsConnection) => Promise<T>): Promise<T> {
  // The client does not read the login in a URL.
  const { hostname, port, username, password } = new URL(url);
  const login = username ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) } : {};
  const servers = `${hostname}:${port || 4222}`;
  const { connect } = await import('nats');
  const connection = await connect({ servers, ...login, timeout: 2_000, reconnect: false });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Logs in and returns the version. @throws when the login may not create databases and roles */
export const checkPostgres = (url: string): Promise<string> =>
  withPostgres(url, async (client) => {
    const { rows } = await client.query<{ version: string; mayCreate: boolean }>(
      `SELECT current_setting('server_version') AS version, rolsuper OR (rolcreatedb AND rolcreaterole) AS "mayCreate"
         FROM pg_roles WHERE rolname = current_user`,
    );
    if (!rows[0]?.mayCreate) throw new Error('the login may not create databases and roles');
    return rows[0].version;
  });

export async function checkRedis(url: string): Promise<string> {
  const { Redis } = await import('ioredis');
  const client = new Redis(url, { lazyConnect: true, connectTimeout: 2_000, retryStrategy: () => null });
  let problem: Error | null = null;
  client.on('error', (error: Error) => (problem = error));
  try {
    await client.connect();
    return /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? '';
  } catch (error) {
    throw problem ?? error; // the rejection is "Connection is closed."
  } finally {
    client.disconnect();
  }
}

/** Logs in and returns the version. @throws when JetStream is off */
export const checkNats = (url: string): Promise<string> =>
  withNats(url, ({ info }) =>
    info?.jetstream ? Promise.resolve(info.version) : Promise.reject(new Error('JetStream is off')),
  );

/** Logs in and returns the version. @throws when JetStream does not reply, as in a cluster without a leader */
export const checkJetStream = (url: string): Promise<string> =>
  withNats(url, async (connection) => {
    await connection.jetstreamManager();
    return connection.info?.version ?? '';
  });
