import type { CredentialChanged } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';
import type { ApiKey, ApiKeyStatus } from './api-key.entity.js';
import { STORE_KEY_WARNING, type ApiKeyDto, type CreatedApiKeyDto } from './dto/api-key.dto.js';

const toIso = (time: Date | null): string | null => time?.toISOString() ?? null;

/** Returns `expired` for an active key whose `expiresAt` has passed, whatever is stored. */
export function currentStatus({ status, expiresAt }: Pick<ApiKey, 'status' | 'expiresAt'>, now: Date): ApiKeyStatus {
  return status === 'active' && expiresAt !== null && expiresAt <= now ? 'expired' : status;
}

export function toApiKeyDto(row: ApiKey, now: Date): ApiKeyDto {
  const { previousValidUntil } = row;
  return {
    id: row.id,
    orgId: row.orgId,
    name: row.name,
    keyPrefix: row.keyPrefix,
    scopes: row.scopes,
    expiresAt: toIso(row.expiresAt),
    lastUsedAt: toIso(row.lastUsedAt),
    usageCount: Number(row.usageCount),
    rateLimit: row.rateLimit,
    createdBy: row.createdBy,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    status: currentStatus(row, now),
    source: row.source,
    principalId: row.principalId,
    sourceCidrs: row.sourceCidrs,
    expiryReminders: row.expiryReminders,
    previousKeyValidUntil: toIso(previousValidUntil && previousValidUntil > now ? previousValidUntil : null),
  };
}

export function toCreatedApiKeyDto(row: ApiKey, key: string): CreatedApiKeyDto {
  const { lastUsedAt, usageCount, updatedAt, source, principalId, previousKeyValidUntil, ...shown } = toApiKeyDto(
    row,
    row.createdAt,
  );
  return { ...shown, key, warning: STORE_KEY_WARNING };
}

/** Returns the resource of an audit entry. */
export function apiKeyResource({ id, name, orgId, partnerId }: ApiKey) {
  return { type: 'api_key', id, name, orgId, partnerId };
}

/** Returns the broadcasts on which every key cache drops the records of these keys. */
export function apiKeysChanged(
  keys: readonly Pick<ApiKey, 'id' | 'partnerId' | 'orgId' | 'keyHash' | 'previousKeyHash'>[],
  reason: CredentialChanged['reason'],
): OutgoingMessage[] {
  return keys.map(({ id, partnerId, orgId, keyHash, previousKeyHash }) => ({
    stream: 'broadcast',
    type: 'credential.changed',
    aggregateId: id,
    partnerId,
    orgId,
    data: {
      kind: 'api_key',
      keyIds: [id],
      keyHashes: [keyHash, previousKeyHash].flatMap((hash) => (hash ? [hash.toString('hex')] : [])),
      reason,
    },
  }));
}
