import { ApiProperty, PickType } from '@nestjs/swagger';
import { API_KEY_SOURCES, API_KEY_STATUSES, type ApiKeySource, type ApiKeyStatus } from '../api-key.entity.js';

/** Shown with every new key. */
export const STORE_KEY_WARNING = 'Store this key now: it is not shown again.';

const NULLABLE_TIME = { type: String, format: 'date-time', nullable: true } as const;

/** An API key without the key itself. */
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

  @ApiProperty({ ...NULLABLE_TIME, description: 'null: never' })
  expiresAt: string | null;

  @ApiProperty({ ...NULLABLE_TIME, description: 'A few seconds behind; null after a rotation' })
  lastUsedAt: string | null;

  @ApiProperty({ type: 'integer', description: 'Requests since it was created or rotated, a few seconds behind' })
  usageCount: number;

  @ApiProperty({ type: 'integer', description: 'Requests per hour' })
  rateLimit: number;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  createdBy: string | null;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;

  @ApiProperty({ enum: API_KEY_STATUSES })
  status: ApiKeyStatus;

  @ApiProperty({ enum: API_KEY_SOURCES })
  source: ApiKeySource;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The service principal that owns it' })
  principalId: string | null;

  @ApiProperty({ type: [String], description: 'CIDR ranges the key may be used from; empty: any address' })
  sourceCidrs: string[];

  @ApiProperty({ description: 'Whether the creator gets a mail 14 and 3 days before the key expires' })
  expiryReminders: boolean;

  @ApiProperty({ ...NULLABLE_TIME, description: 'The time until which the key before the last rotation also works' })
  previousKeyValidUntil: string | null;
}

const SECRET = { description: '`svc_` and 32 characters; shown only once' };
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

  @ApiProperty({ description: 'A message for the user' })
  message: string;

  @ApiProperty({ type: RevokedKeyDto })
  apiKey: RevokedKeyDto;
}
