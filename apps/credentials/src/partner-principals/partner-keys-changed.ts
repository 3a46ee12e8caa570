import { type CredentialChanged } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';
import type { PartnerPrincipalKey } from './partner-principal-key.entity.js';

const KEYS_PER_MESSAGE = 1_000; // of about 110 bytes each; far below what NATS takes in one message

/** What tells every key cache to drop these keys of one principal: one message, or few for very many keys. */
export function partnerKeysChanged(
  keys: readonly Pick<PartnerPrincipalKey, 'id' | 'principalId' | 'partnerId' | 'keyHash'>[],
  reason: CredentialChanged['reason'],
): OutgoingMessage[] {
  const messages: OutgoingMessage[] = [];
  for (let from = 0; from < keys.length; from += KEYS_PER_MESSAGE) {
    const some = keys.slice(from, from + KEYS_PER_MESSAGE);
    const [{ principalId, partnerId }] = some;
    const data: CredentialChanged = {
      kind: 'partner_key',
      keyIds: some.map(({ id }) => id),
      keyHashes: some.map(({ keyHash }) => keyHash.toString('hex')),
      reason,
    };
    messages.push({
      stream: 'broadcast',
      type: 'credential.changed',
      aggregateId: principalId,
      partnerId,
      orgId: null,
      data,
    });
  }
  return messages;
}
