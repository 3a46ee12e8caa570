import { ApiProperty, OmitType } from '@nestjs/swagger';
import { IsCidrList, IsFlag, IsInteger, IsIsoDateTime, IsName, IsText, IsUuid, IsWordList } from '@rmm/validation';
import { API_KEY_SOURCES, API_KEY_STATUSES, type ApiKeySource, type ApiKeyStatus } from '../api-key.entity.js';

/** Shown with every new key. */
export const STORE_KEY_WARNING = 'Store this key now: it is not shown again.';

const NULLABLE_TIME = { type: String, format: 'date-time', nullable: true } as const;

/** The optional settings of an API key, given when it is created or changed later. */
export class ApiKeySettingsDto {
  @IsIsoDateTime({ description: 'When the key expires; null: never', optional: true, nullable: true })
  expiresAt?: Date | null;
  @IsText({ description: 'What the key is used for; null: no description', max: 1_000, optional: true, nullable: true })
  description?: string | null;
  @IsInteger({ description: 'Requests per hour', min: 1, max: 100_000, optional: true })
  rateLimit?: number;
  @IsCidrList({ description: 'CIDR ranges the key may be used from; empty: any address', max: 50, optional: true })
  sourceCidrs?: string[];
  @IsFlag({ description: 'Mail the creator 14 and 3 days before the key expires; default true', optional: true })
  expiryReminders?: boolean;
}

export class CreateApiKeyDto extends ApiKeySettingsDto {
  @IsUuid({ description: 'The organization the key belongs to' })
  orgId!: string;
  @IsName({ description: 'Shown in lists' })
  name!: string;
  @IsWordList({ description: 'Scopes such as devices:read; the creator needs their permissions', optional: true })
  scopes?: string[];
}

/** An API key without the key itself. */
export class ApiKeyDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the API key' })
  id: string;
  @ApiProperty({ format: 'uuid', description: 'Organization of the API key' })
  orgId: string;
  @ApiProperty({ description: 'Name of the API key' })
  name: string;
  @ApiProperty({ type: String, nullable: true, description: 'What the key is used for' })
  description: string | null;
  @ApiProperty({ description: 'The first 12 characters' })
  keyPrefix: string;
  @ApiProperty({ type: [String], description: 'What the API key may be used for' })
  scopes: string[];
  @ApiProperty({ ...NULLABLE_TIME, description: 'null: never' })
  expiresAt: string | null;
  @ApiProperty({ ...NULLABLE_TIME, description: 'A few seconds behind; null after a rotation' })
  lastUsedAt: string | null;
  @ApiProperty({ type: 'integer', description: 'Requests since it was created or rotated, a few seconds behind' })
  usageCount: number;
  @ApiProperty({ type: 'integer', description: 'Requests per hour' })
  rateLimit: number;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'User who created the API key' })
  createdBy: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the API key was created' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the API key was last changed' })
  updatedAt: string;
  @ApiProperty({ enum: API_KEY_STATUSES, description: 'State of the API key' })
  status: ApiKeyStatus;
  @ApiProperty({ enum: API_KEY_SOURCES, description: 'How the key was created' })
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

const OMITTED = ['lastUsedAt', 'usageCount', 'updatedAt', 'source', 'principalId', 'previousKeyValidUntil'] as const;

export class CreatedApiKeyDto extends OmitType(ApiKeyDto, OMITTED) {
  @ApiProperty({ description: '`svc_` and 32 characters; shown only once' })
  key: string;
  @ApiProperty({ description: 'A reminder to store the key' })
  warning: string;
}
