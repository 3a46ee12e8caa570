import { ApiProperty } from '@nestjs/swagger';
import { KEY_STATUSES, type KeyStatus, type PartnerPrincipalKey } from '../partner-principal-key.entity.js';
import { PRINCIPAL_STATUSES, type PartnerPrincipal, type PrincipalStatus } from '../partner-principal.entity.js';

const nullableTime = { type: String, format: 'date-time', nullable: true } as const;

/** A key without what opens the door. @see CONTRACT.md 4.4.5 */
export class PartnerKeyDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'uuid' })
  partnerServicePrincipalId: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ description: 'The first 18 characters' })
  keyPrefix: string;
  @ApiProperty({ enum: KEY_STATUSES })
  status: KeyStatus;
  @ApiProperty({ ...nullableTime, description: 'The end of the principal counts as well' })
  expiresAt: string | null;
  @ApiProperty({ type: 'integer', description: 'Requests per hour' })
  rateLimit: number;
  @ApiProperty(nullableTime)
  lastUsedAt: string | null;
  @ApiProperty(nullableTime)
  revokedAt: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The key it replaced' })
  rotatedFromId: string | null;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
}

/** A principal with all its keys, oldest first. @see CONTRACT.md 4.4.5 */
export class PartnerPrincipalDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'uuid' })
  partnerId: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ type: String, nullable: true })
  description: string | null;
  @ApiProperty({ enum: PRINCIPAL_STATUSES })
  status: PrincipalStatus;
  @ApiProperty({ type: [String] })
  scopes: string[];
  @ApiProperty(nullableTime)
  expiresAt: string | null;
  @ApiProperty({ type: [String], description: 'Addresses the keys work from; empty: anywhere' })
  sourceCidrs: string[];
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
  @ApiProperty({ type: [PartnerKeyDto] })
  keys: PartnerKeyDto[];
}

/** One principal is answered below `data`. @see CONTRACT.md 1.2 */
export class PartnerPrincipalDataDto {
  @ApiProperty({ type: PartnerPrincipalDto })
  data: PartnerPrincipalDto;
}

export class CreatedPartnerKeyDto {
  @ApiProperty({ format: 'uuid' })
  keyId: string;
  @ApiProperty({ description: '`svc_sp_` and 43 characters; shown this once' })
  key: string;
  @ApiProperty()
  keyPrefix: string;
}

export class RevokedPartnerKeyDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;
  @ApiProperty({ description: 'True where the key was revoked before' })
  alreadyRevoked: boolean;
}

const toPartnerKeyDto = (row: PartnerPrincipalKey): PartnerKeyDto => ({
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
});

export const toPartnerPrincipalDto = (
  row: PartnerPrincipal,
  keys: readonly PartnerPrincipalKey[],
): PartnerPrincipalDto => ({
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
});
