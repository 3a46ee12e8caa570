import { randomUUID } from 'node:crypto';
import { hashKey } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import pg from 'pg';
import type { CredentialsUnderTest } from './credentials-under-test.js';

export type Client = ReturnType<CredentialsUnderTest['client']>;

export interface IssuedKey {
  keyId: string;
  key: string;
  keyPrefix: string;
  /** What caches and look-ups know it by. */
  keyHash: string;
}

/** A partner principal of a name of its own, through the API. */
export async function makePrincipal(client: Client, body: object = {}) {
  const { status, body: answer } = await client.post('/partner-service-principals', { name: randomUUID(), ...body });
  if (status !== 201) throw new Error(`no principal was made: ${status} ${JSON.stringify(answer)}`);
  return answer.data as { id: string; name: string; updatedAt: string; keys: object[] };
}

/** A key of a partner principal, through the API. */
export async function issueKey(client: Client, principalId: string, body: object = {}): Promise<IssuedKey> {
  const path = `/partner-service-principals/${principalId}/keys`;
  const { status, body: answer } = await client.post(path, { name: 'Key', ...body });
  if (status !== 201) throw new Error(`no key was issued: ${status} ${JSON.stringify(answer)}`);
  return withHash(answer as Omit<IssuedKey, 'keyHash'>);
}

export const withHash = (issued: Omit<IssuedKey, 'keyHash'>): IssuedKey => ({
  ...issued,
  keyHash: hashKey(issued.key).toString('hex'),
});

/** Makes calls race for a principal and its keys: holds their rows until every call waits for one, then lets go. */
export async function racing<T>(
  { database, admin }: CredentialsUnderTest,
  principalId: string,
  calls: PromiseLike<T>[],
): Promise<T[]> {
  const holder = new pg.Client({ connectionString: database.adminUrl, options: '-c search_path=credentials' });
  await holder.connect();
  await holder.query('BEGIN');
  for (const [table, column] of [
    ['partner_principal', 'id'],
    ['partner_principal_key', 'principal_id'],
  ]) {
    await holder.query(`SELECT 1 FROM ${table} WHERE ${column} = $1 FOR UPDATE`, [principalId]);
  }
  const answers = Promise.all(calls);
  await eventually(async () => {
    const { rows } = await admin.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    expect(rows).toHaveLength(calls.length);
  });
  await holder.end(); // rolls back
  return answers;
}
