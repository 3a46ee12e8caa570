import { randomUUID } from 'node:crypto';
import type { CredentialChanged } from '@rmm/contracts';
import { partnerKeysChanged } from './partner-principal.mapper.js';

const [principalId, partnerId] = [randomUUID(), randomUUID()];
const keys = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    id: randomUUID(),
    principalId,
    partnerId,
    keyHash: Buffer.alloc(32, n),
  }));

describe('the announcement about keys of a partner principal', () => {
  it('is one message in the name of the principal, with hashes as caches know them', () => {
    const [first, second] = keys(2);
    expect(partnerKeysChanged([first, second], 'updated')).toEqual([
      {
        stream: 'broadcast',
        type: 'credential.changed',
        aggregateId: principalId,
        partnerId,
        orgId: null,
        data: {
          kind: 'partner_key',
          keyIds: [first.id, second.id],
          keyHashes: ['00'.repeat(32), '01'.repeat(32)],
          reason: 'updated',
        },
      },
    ]);
  });

  it('is none where there is no key', () => {
    expect(partnerKeysChanged([], 'principal_disabled')).toEqual([]);
  });

  it('of more keys than fit into a message is several, all below half a megabyte', () => {
    const all = keys(12_345);
    const messages = partnerKeysChanged(all, 'principal_disabled');
    expect(messages.flatMap(({ data }) => (data as CredentialChanged).keyIds)).toEqual(all.map(({ id }) => id));
    expect(Math.max(...messages.map((message) => JSON.stringify(message).length))).toBeLessThan(512 * 1024);
  });
});
