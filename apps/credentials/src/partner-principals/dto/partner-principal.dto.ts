import { ApiProperty } from '@nestjs/swagger';
import { PARTNER_KEY_STATUSES, type PartnerKeyStatus } from '../partner-key.entity.js';
import { PARTNER_PRINCIPAL_STATUSES, type PartnerPrincipalStatus } from '../partner-principal.entity.js';

const NULLABLE_TIME = { type: String, format: 'date-time', nullable: true } as const;

/** A partner key without the key itself. @see docs/reference/partner-interface.md */
export class PartnerKeyDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the key' })
  id: string;
  @ApiProperty({ format: 'uuid', description: 'Id of the principal of the key' })
  partnerServicePrincipalId: string;
  @ApiProperty({ description: 'Name of the key' })
  name: string;
  @ApiProperty({ description: 'The first 18 characters' })
  keyPrefix: string;
  @ApiProperty({ enum: PARTNER_KEY_STATUSES, description: 'State of the key' })
  status: PartnerKeyStatus;
  @ApiProperty({ ...NULLABLE_TIME, description: 'The key also stops working when the principal expires' })
  expiresAt: string | null;
  @ApiProperty({ type: 'integer', description: 'Requests per hour' })
  rateLimit: number;
  @ApiProperty({ ...NULLABLE_TIME, description: 'When the key was last used; null: never' })
  lastUsedAt: string | null;
  @ApiProperty({ ...NULLABLE_TIME, description: 'When the key was revoked; null while it is active' })
  revokedAt: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The key it replaced' })
  rotatedFromId: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the key was created' })
  createdAt: string;
}

/** A partner principal with all its keys, oldest first. */
export class PartnerPrincipalDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the principal' })
  id: string;
  @ApiProperty({ format: 'uuid', description: 'Partner of the principal' })
  partnerId: string;
  @ApiProperty({ description: 'Name of the principal' })
  name: string;
  @ApiProperty({ type: String, nullable: true, description: 'Free text about the principal' })
  description: string | null;
  @ApiProperty({ enum: PARTNER_PRINCIPAL_STATUSES, description: 'State of the principal' })
  status: PartnerPrincipalStatus;
  @ApiProperty({ type: [String], description: 'What the principal may be used for' })
  scopes: string[];
  @ApiProperty({ ...NULLABLE_TIME, description: 'When the principal expires; null: never' })
  expiresAt: string | null;
  @ApiProperty({ type: [String], description: 'CIDR ranges the keys may be used from; empty: any address' })
  sourceCidrs: string[];
  @ApiProperty({ format: 'date-time', description: 'When the principal was created' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the principal was last changed' })
  updatedAt: string;
  @ApiProperty({ type: [PartnerKeyDto], description: 'The keys of the principal, oldest first' })
  keys: PartnerKeyDto[];
}

/** Response with one principal. */
export class PartnerPrincipalDataDto {
  @ApiProperty({ type: PartnerPrincipalDto, description: 'The principal' })
  data: PartnerPrincipalDto;
}

export class CreatedPartnerKeyDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the key' })
  keyId: string;
  @ApiProperty({ description: '`svc_sp_` and 43 characters; shown only once' })
  key: string;
  @ApiProperty({ description: 'The first 18 characters of the key' })
  keyPrefix: string;
}

export class RevokedPartnerKeyDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true; a failure is an error response' })
  success: true;
  @ApiProperty({ description: 'True when the key was revoked before' })
  alreadyRevoked: boolean;
}
