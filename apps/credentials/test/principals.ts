import { randomUUID } from 'node:crypto';
import { hashKey } from '@rmm/secrets';
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
