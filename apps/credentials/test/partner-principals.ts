import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { hashKey } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import type { CredentialsTestApp } from './credentials-test-app.js';

export type Client = ReturnType<CredentialsTestApp['client']>;

export interface IssuedKey {
  keyId: string;
  key: string;
  keyPrefix: string;
  /** SHA-256 of the key, as caches and look-ups use it. */
  keyHash: string;
}

/** Creates a partner principal with a unique name, through the API. */
export async function buildPrincipal(client: Client, body: object = {}) {
  const { status, body: response } = await client.post('/partner-service-principals', { name: randomUUID(), ...body });
  if (status !== 201) throw new Error(`creating the principal failed: ${status} ${JSON.stringify(response)}`);
  return response.data as { id: string; name: string; updatedAt: string; keys: object[] };
}

/** Issues a key of a partner principal, through the API. */
export async function issueKey(client: Client, principalId: string, body: object = {}): Promise<IssuedKey> {
  const path = `/partner-service-principals/${principalId}/keys`;
  const { status, body: response } = await client.post(path, { name: 'Key', ...body });
  if (status !== 201) throw new Error(`issuing the key failed: ${status} ${JSON.stringify(response)}`);
  return withHash(response as Omit<IssuedKey, 'keyHash'>);
}

export const withHash = (issued: Omit<IssuedKey, 'keyHash'>): IssuedKey => ({
  ...issued,
  keyHash: hashKey(issued.key).toString('hex'),
});

/** Runs calls that race for a principal and its keys: locks their rows until every call waits, then releases them. */
export async function racing<T>(
  { database, admin }: CredentialsTestApp,
  principalId: string,
  calls: PromiseLike<T>[],
): Promise<T[]> {
  const locker = new pg.Client({ connectionString: database.adminUrl, options: '-c search_path=credentials' });
  await locker.connect();
  await locker.query('BEGIN');
  for (const [table, column] of [
    ['partner_principal', 'id'],
    ['partner_principal_key', 'principal_id'],
  ]) {
    await locker.query(`SELECT 1 FROM ${table} WHERE ${column} = $1 FOR UPDATE`, [principalId]);
  }
  const results = Promise.all(calls);
  await eventually(async () => {
    const { rows } = await admin.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    expect(rows).toHaveLength(calls.length);
  });
  await locker.end(); // rolls back
  return results;
}
