import type { CredentialChanged } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';
import { credentialChanged } from '../key-lookup/credential-changed.events.js';
import type { PartnerKeyDto, PartnerPrincipalDto } from './dto/partner-principal.dto.js';
import type { PartnerKey } from './partner-key.entity.js';
import type { PartnerPrincipal } from './partner-principal.entity.js';

const KEYS_PER_MESSAGE = 1_000; // of about 110 bytes each, far below the size limit of NATS

function toPartnerKeyDto(row: PartnerKey): PartnerKeyDto {
  return {
    id: row.id,
    partnerServicePrincipalId: row.principalId,
    name: row.name,
    keyPrefix: row.keyPrefix,
    status: row.status,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    rateLimit: row.rateLimit,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    revokedAt: row.revokedAt?.toISOString() ?? null,
    rotatedFromId: row.rotatedFromId,
    createdAt: row.createdAt.toISOString(),
  };
}

/** @param keys the keys of this principal, or of several */
export function toPartnerPrincipalDto(row: PartnerPrincipal, keys: readonly PartnerKey[]): PartnerPrincipalDto {
  return {
    id: row.id,
    partnerId: row.partnerId,
    name: row.name,
    description: row.description,
    status: row.status,
    scopes: row.scopes,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    sourceCidrs: row.sourceCidrs,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    keys: keys.filter((key) => key.principalId === row.id).map(toPartnerKeyDto),
  };
}

/** Returns the resource of an audit entry; a partner-level action has no organization. */
export function partnerPrincipalResource({ id, name, partnerId }: PartnerPrincipal) {
  return { type: 'partner_service_principal', id, name, orgId: null, partnerId };
}

/** Returns the broadcasts on which every key cache drops the records of these keys of one principal. */
export function partnerKeysChanged(
  keys: readonly Pick<PartnerKey, 'id' | 'principalId' | 'partnerId' | 'keyHash'>[],
  reason: CredentialChanged['reason'],
): OutgoingMessage[] {
  const messages: OutgoingMessage[] = [];
  for (let from = 0; from < keys.length; from += KEYS_PER_MESSAGE) {
    const some = keys.slice(from, from + KEYS_PER_MESSAGE);
    const [{ principalId, partnerId }] = some;
    const keyIds = some.map(({ id }) => id);
    const keyHashes = some.map(({ keyHash }) => keyHash);
    const owner = { id: principalId, partnerId, orgId: null };
    messages.push(credentialChanged(owner, { kind: 'partner_key', keyIds, keyHashes, reason }));
  }
  return messages;
}
