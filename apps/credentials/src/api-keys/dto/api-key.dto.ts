import type { ApiKey, ApiKeyStatus } from '../api-key.entity.js';

/** An API key as lists and single reads show it: never the key, never its hash. */
export interface ApiKeyDto {
  id: string;
  orgId: string;
  name: string;
  keyPrefix: string;
  scopes: string[];
  expiresAt: string | null;
  lastUsedAt: string | null;
  usageCount: number;
  rateLimit: number;
  createdBy: string | null;
  createdAt: string;
  updatedAt: string;
  status: ApiKeyStatus;
  source: 'manual' | 'service_principal';
  principalId: string | null;
}

export interface CreatedApiKeyDto {
  id: string;
  orgId: string;
  name: string;
  key: string;
  keyPrefix: string;
  scopes: string[];
  expiresAt: string | null;
  rateLimit: number;
  createdBy: string | null;
  createdAt: string;
  status: ApiKeyStatus;
  warning: string;
}

/** A key whose `expiresAt` has passed shows `expired` at once, whatever is stored. */
const statusAt = (row: ApiKey, now: Date): ApiKeyStatus =>
  row.status === 'active' && row.expiresAt !== null && row.expiresAt <= now ? 'expired' : row.status;

export const toApiKeyDto = (row: ApiKey, now: Date): ApiKeyDto => ({
  id: row.id,
  orgId: row.orgId,
  name: row.name,
  keyPrefix: row.keyPrefix,
  scopes: row.scopes,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  usageCount: Number(row.usageCount),
  rateLimit: row.rateLimit,
  createdBy: row.createdBy,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  status: statusAt(row, now),
  source: row.source,
  principalId: row.principalId,
});

export const toCreatedApiKeyDto = (row: ApiKey, key: string): CreatedApiKeyDto => ({
  id: row.id,
  orgId: row.orgId,
  name: row.name,
  key,
  keyPrefix: row.keyPrefix,
  scopes: row.scopes,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  rateLimit: row.rateLimit,
  createdBy: row.createdBy,
  createdAt: row.createdAt.toISOString(),
  status: row.status,
  warning: 'Store this key now: it is not shown again.',
});
