import { ApiProperty, PickType } from '@nestjs/swagger';
import type { ApiKey, ApiKeyStatus } from '../api-key.entity.js';

const STATUSES: ApiKeyStatus[] = ['active', 'expired', 'revoked'];
const SOURCES: ApiKey['source'][] = ['manual', 'service_principal'];
const INSTANT = { type: String, format: 'date-time', nullable: true } as const;

/** An API key as lists and single reads show it: never the key, never its hash. */
export class ApiKeyDto {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'uuid' })
  orgId: string;

  @ApiProperty()
  name: string;

  @ApiProperty({ description: 'The first 12 characters' })
  keyPrefix: string;

  @ApiProperty({ type: [String] })
  scopes: string[];

  @ApiProperty({ ...INSTANT, description: 'Null: never' })
  expiresAt: string | null;

  @ApiProperty({ ...INSTANT, description: 'A few seconds behind; null after a rotation' })
  lastUsedAt: string | null;

  @ApiProperty({ type: 'integer', description: 'Requests since it was made or rotated, a few seconds behind' })
  usageCount: number;

  @ApiProperty({ type: 'integer', description: 'Requests per hour' })
  rateLimit: number;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  createdBy: string | null;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;

  @ApiProperty({ enum: STATUSES })
  status: ApiKeyStatus;

  @ApiProperty({ enum: SOURCES })
  source: ApiKey['source'];

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The service principal that owns it' })
  principalId: string | null;

  @ApiProperty({ type: [String], description: 'CIDRs the key works from; empty: from anywhere' })
  sourceCidrs: string[];

  @ApiProperty({ description: 'Whether its creator is mailed 14 and 3 days before it expires' })
  expiryReminders: boolean;

  @ApiProperty({ ...INSTANT, description: 'Until when the key before the last rotation works as well' })
  previousKeyValidUntil: string | null;
}

const SECRET = { description: '`svc_` and 32 characters; shown this once' };
const WARNING = { description: 'A reminder to store the key' };

export class CreatedApiKeyDto extends PickType(ApiKeyDto, [
  'id',
  'orgId',
  'name',
  'keyPrefix',
  'scopes',
  'expiresAt',
  'rateLimit',
  'createdBy',
  'createdAt',
  'status',
  'sourceCidrs',
  'expiryReminders',
]) {
  @ApiProperty(SECRET)
  key: string;

  @ApiProperty(WARNING)
  warning: string;
}

export class RotatedApiKeyDto extends ApiKeyDto {
  @ApiProperty(SECRET)
  key: string;

  @ApiProperty(WARNING)
  warning: string;
}

class RevokedKeyDto extends PickType(ApiKeyDto, ['id', 'name', 'keyPrefix', 'updatedAt']) {
  @ApiProperty({ enum: ['revoked'] })
  status: 'revoked';
}

export class RevokedApiKeyDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;

  @ApiProperty({ description: 'A sentence for people' })
  message: string;

  @ApiProperty({ type: RevokedKeyDto })
  apiKey: RevokedKeyDto;
}

/** Beside every key that is shown. */
export const STORE_IT_NOW = 'Store this key now: it is not shown again.';

const isoOf = (at: Date | null): string | null => at?.toISOString() ?? null;

/** A key whose `expiresAt` has passed shows `expired` at once, whatever is stored. */
export const statusAt = ({ status, expiresAt }: Pick<ApiKey, 'status' | 'expiresAt'>, now: Date): ApiKeyStatus =>
  status === 'active' && expiresAt !== null && expiresAt <= now ? 'expired' : status;

export const toApiKeyDto = (row: ApiKey, now: Date): ApiKeyDto => ({
  id: row.id,
  orgId: row.orgId,
  name: row.name,
  keyPrefix: row.keyPrefix,
  scopes: row.scopes,
  expiresAt: isoOf(row.expiresAt),
  lastUsedAt: isoOf(row.lastUsedAt),
  usageCount: Number(row.usageCount),
  rateLimit: row.rateLimit,
  createdBy: row.createdBy,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  status: statusAt(row, now),
  source: row.source,
  principalId: row.principalId,
  sourceCidrs: row.sourceCidrs,
  expiryReminders: row.expiryReminders,
  previousKeyValidUntil: isoOf(row.previousValidUntil && row.previousValidUntil > now ? row.previousValidUntil : null),
});

export const toCreatedApiKeyDto = (row: ApiKey, key: string): CreatedApiKeyDto => ({
  id: row.id,
  orgId: row.orgId,
  name: row.name,
  key,
  keyPrefix: row.keyPrefix,
  scopes: row.scopes,
  expiresAt: isoOf(row.expiresAt),
  rateLimit: row.rateLimit,
  createdBy: row.createdBy,
  createdAt: row.createdAt.toISOString(),
  status: row.status,
  sourceCidrs: row.sourceCidrs,
  expiryReminders: row.expiryReminders,
  warning: STORE_IT_NOW,
});
