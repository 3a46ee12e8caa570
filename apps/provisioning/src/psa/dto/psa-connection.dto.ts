import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsName, IsOneOf, IsOpenObject, IsUuid } from '@rmm/validation';
import { SortedPageQueryDto } from '../../lists/dto/sorted-page-query.dto.js';
import { PSA_CONNECTION_STATUSES, type PsaConnectionStatus } from '../psa-connection.entity.js';
import { PSA_PROVIDERS, type PsaProvider } from '../psa-providers.constants.js';

export const OWNER_SCOPES = ['partner', 'organization'] as const;
export type OwnerScope = (typeof OWNER_SCOPES)[number];

const MAX_CREDENTIALS_BYTES = 65_536;
const MAX_SETTINGS_BYTES = 16_384;

export class ListPsaConnectionsDto extends SortedPageQueryDto {
  @IsOneOf(PSA_PROVIDERS, { optional: true, description: 'Only those of this PSA' })
  provider?: PsaProvider;

  @IsOneOf(PSA_CONNECTION_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: PsaConnectionStatus;

  @IsUuid({ optional: true, description: 'Connections that the organization owns' })
  orgId?: string;
}

export class CreatePsaConnectionDto {
  @IsOneOf(OWNER_SCOPES, { description: 'Who owns the connection' })
  ownerScope!: OwnerScope;

  @IsUuid({ optional: true, description: 'The owner, for `organization`; organization callers may omit it' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Required in system scope, for `partner`' })
  partnerId?: string;

  @IsOneOf(PSA_PROVIDERS, { description: 'The PSA' })
  provider!: PsaProvider;

  @IsName({ description: 'Name of the connection' })
  name!: string;

  @IsOpenObject({
    maxBytes: MAX_CREDENTIALS_BYTES,
    description: 'Texts by name, as the provider needs them; secret ones are never returned',
    example: { baseUrl: 'https://acme.zendesk.com', email: 'sync@acme.example', apiToken: 'token' },
  })
  credentials!: Record<string, unknown>;

  @IsOpenObject({ maxBytes: MAX_SETTINGS_BYTES, optional: true, description: 'Settings of the connection' })
  settings?: Record<string, unknown>;
}

export class UpdatePsaConnectionDto {
  @IsName({ optional: true, description: 'Name of the connection' })
  name?: string;

  @IsOneOf(['active', 'paused'], { optional: true, description: 'A paused connection sends no requests' })
  status?: 'active' | 'paused';

  @IsOpenObject({
    maxBytes: MAX_CREDENTIALS_BYTES,
    optional: true,
    description: 'Merged by name; null deletes one. Another origin of `baseUrl` needs the secret ones again',
  })
  credentials?: Record<string, unknown>;

  @IsOpenObject({ maxBytes: MAX_SETTINGS_BYTES, optional: true, description: 'Merged by key; null removes one' })
  settings?: Record<string, unknown>;
}

const time = { type: String, format: 'date-time', nullable: true } as const;

export class PsaConnectionDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the connection' })
  id!: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null when the partner owns it' })
  orgId!: string | null;
  @ApiProperty({ enum: OWNER_SCOPES, description: 'Whether it belongs to an organization or to the partner' })
  ownerScope!: OwnerScope;
  @ApiProperty({ enum: PSA_PROVIDERS, description: 'The PSA' })
  provider!: PsaProvider;
  @ApiProperty({ description: 'Name of the connection' })
  name!: string;
  @ApiProperty({ enum: PSA_CONNECTION_STATUSES, description: '`error` after the PSA refused the credentials' })
  status!: PsaConnectionStatus;
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'Settings of the connection' })
  settings!: Record<string, unknown>;
  @ApiProperty({ description: 'Whether every credential is there that requests need' })
  hasCredentials!: boolean;
  @ApiProperty({ format: 'date-time', description: 'When the connection was created' })
  createdAt!: string;
  @ApiProperty({ format: 'date-time', description: 'When the connection was last changed' })
  updatedAt!: string;
  @ApiProperty({ ...time, description: 'When the connection was last tested; null: never' })
  lastTestedAt!: string | null;
  @ApiProperty({ ...time, description: 'When companies were last imported' })
  lastSyncedAt!: string | null;
}

export class PsaConnectionDetailsDto extends PsaConnectionDto {
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Public credentials, for callers who may change the connection',
  })
  credentials?: Record<string, string>;
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'boolean' },
    description: 'Which of the secret credentials are there; the same callers',
  })
  secretCredentials?: Record<string, boolean>;
}

export class PsaConnectionEnvelopeDto {
  @ApiProperty({ type: PsaConnectionDetailsDto, description: 'The connection' })
  data!: PsaConnectionDetailsDto;
}

/** The result of a test, 200 in both cases. */
export class PsaTestResultDto {
  @ApiProperty({ description: 'Always true; a failure is an error response' })
  success!: boolean;
  @ApiProperty({ required: false, description: 'Result in a sentence' })
  message?: string;
  @ApiProperty({ required: false, description: 'Why it failed; contains no secret' })
  error?: string;
}
