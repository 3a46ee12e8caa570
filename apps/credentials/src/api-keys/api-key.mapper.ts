import type { CredentialChanged } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';
import { credentialChanged } from '../key-lookup/credential-changed.events.js';
import type { ApiKey, ApiKeyStatus } from './api-key.entity.js';
import { STORE_KEY_WARNING, type ApiKeyDto, type CreatedApiKeyDto } from './dto/api-key.dto.js';

const toIso = (time: Date | null): string | null => time?.toISOString() ?? null;

/** Returns `expired` for an active key whose `expiresAt` has passed, whatever is stored. */
export function currentStatus({ status, expiresAt }: Pick<ApiKey, 'status' | 'expiresAt'>, now: Date): ApiKeyStatus {
  return status === 'active' && expiresAt !== null && expiresAt <= now ? 'expired' : status;
}

export function toApiKeyDto(row: ApiKey, now: Date): ApiKeyDto {
  return {
    id: row.id,
    orgId: row.orgId,
    name: row.name,
    description: row.description,
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
    previousKeyValidUntil:
      row.previousValidUntil && row.previousValidUntil > now ? toIso(row.previousValidUntil) : null,
  };
}

/** Leaves out the fields that say nothing about a key that was just created. */
export function toCreatedApiKeyDto(row: ApiKey, key: string): CreatedApiKeyDto {
  const dto = toApiKeyDto(row, row.createdAt);
  const { lastUsedAt, usageCount, updatedAt, source, principalId, previousKeyValidUntil, ...created } = dto;
  return { ...created, key, warning: STORE_KEY_WARNING };
}

/** Returns the broadcasts on which every key cache drops the records of these keys. */
export function apiKeysChanged(
  keys: readonly Pick<ApiKey, 'id' | 'partnerId' | 'orgId' | 'keyHash' | 'previousKeyHash'>[],
  reason: CredentialChanged['reason'],
): OutgoingMessage[] {
  return keys.map(({ keyHash, previousKeyHash, ...key }) => {
    const keyHashes = previousKeyHash ? [keyHash, previousKeyHash] : [keyHash];
    return credentialChanged(key, { kind: 'api_key', keyIds: [key.id], keyHashes, reason });
  });
}
