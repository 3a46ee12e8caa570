import type { CredentialChanged } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';

type ChangedKeys = Pick<CredentialChanged, 'kind' | 'keyIds' | 'reason'> & { keyHashes: readonly Buffer[] };

/** Returns the broadcast on which every key cache drops the records of keys. */
export function credentialChanged(
  { id: aggregateId, partnerId, orgId }: { id: string; partnerId: string; orgId: string | null },
  { keyHashes, ...keys }: ChangedKeys,
): OutgoingMessage {
  const data = { ...keys, keyHashes: keyHashes.map((hash) => hash.toString('hex')) };
  return { stream: 'broadcast', type: 'credential.changed', aggregateId, partnerId, orgId, data };
}
