import { createRequire } from 'node:module';
import path from 'node:path';
import { ROOT } from '../paths.mjs';

/** The PostgreSQL client of the workspace; only there once the dependencies are installed. */
export function postgresClient(url) {
  const { Client } = createRequire(path.join(ROOT, 'package.json'))('pg');
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => {}); // a server that goes away ends the query that waits; nothing more is to be said
  return client;
}

const WHO_AM_I = `
  select current_setting('server_version_num')::int as version,
         rolsuper or (rolcreatedb and rolcreaterole) as "mayCreate"
    from pg_roles where rolname = current_user`;

/**
 * Logs in and asks for the version and for what the login may do.
 * @returns {Promise<{ version: string }>}
 */
export async function probePostgres(url) {
  const client = postgresClient(url);
  await client.connect();
  try {
    const { version, mayCreate } = (await client.query(WHO_AM_I)).rows[0];
    if (!mayCreate) throw new Error('the login may not create databases and roles');
    return { version: `${Math.floor(version / 10_000)}.${version % 10_000}` };
  } finally {
    await client.end();
  }
}
