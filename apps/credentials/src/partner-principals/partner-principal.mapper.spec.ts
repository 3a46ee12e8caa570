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

describe('partnerKeysChanged', () => {
  it('returns one message of the principal with the hashes of the keys', () => {
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

  it('returns no message for no keys', () => {
    expect(partnerKeysChanged([], 'principal_disabled')).toEqual([]);
  });

  it('splits many keys into messages below half a megabyte', () => {
    const all = keys(12_345);
    const messages = partnerKeysChanged(all, 'principal_disabled');
    expect(messages.flatMap(({ data }) => (data as CredentialChanged).keyIds)).toEqual(all.map(({ id }) => id));
    expect(Math.max(...messages.map((message) => JSON.stringify(message).length))).toBeLessThan(512 * 1024);
  });
});
