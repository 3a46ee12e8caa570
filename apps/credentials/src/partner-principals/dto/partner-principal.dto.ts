import { ApiProperty } from '@nestjs/swagger';
import { PARTNER_KEY_STATUSES, type PartnerKeyStatus } from '../partner-key.entity.js';
import { PARTNER_PRINCIPAL_STATUSES, type PartnerPrincipalStatus } from '../partner-principal.entity.js';

const NULLABLE_TIME = { type: String, format: 'date-time', nullable: true } as const;

/** A partner key without the key itself. @see docs/reference/partner-interface.md */
export class PartnerKeyDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'uuid' })
  partnerServicePrincipalId: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ description: 'The first 18 characters' })
  keyPrefix: string;
  @ApiProperty({ enum: PARTNER_KEY_STATUSES })
  status: PartnerKeyStatus;
  @ApiProperty({ ...NULLABLE_TIME, description: 'The key also stops working when the principal expires' })
  expiresAt: string | null;
  @ApiProperty({ type: 'integer', description: 'Requests per hour' })
  rateLimit: number;
  @ApiProperty(NULLABLE_TIME)
  lastUsedAt: string | null;
  @ApiProperty(NULLABLE_TIME)
  revokedAt: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The key it replaced' })
  rotatedFromId: string | null;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
}

/** A partner principal with all its keys, oldest first. */
export class PartnerPrincipalDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'uuid' })
  partnerId: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ type: String, nullable: true })
  description: string | null;
  @ApiProperty({ enum: PARTNER_PRINCIPAL_STATUSES })
  status: PartnerPrincipalStatus;
  @ApiProperty({ type: [String] })
  scopes: string[];
  @ApiProperty(NULLABLE_TIME)
  expiresAt: string | null;
  @ApiProperty({ type: [String], description: 'CIDR ranges the keys may be used from; empty: any address' })
  sourceCidrs: string[];
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
  @ApiProperty({ type: [PartnerKeyDto] })
  keys: PartnerKeyDto[];
}

/** Response with one principal. */
export class PartnerPrincipalDataDto {
  @ApiProperty({ type: PartnerPrincipalDto })
  data: PartnerPrincipalDto;
}

export class CreatedPartnerKeyDto {
  @ApiProperty({ format: 'uuid' })
  keyId: string;
  @ApiProperty({ description: '`svc_sp_` and 43 characters; shown only once' })
  key: string;
  @ApiProperty()
  keyPrefix: string;
}

export class RevokedPartnerKeyDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;
  @ApiProperty({ description: 'True when the key was revoked before' })
  alreadyRevoked: boolean;
}
