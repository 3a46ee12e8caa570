import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { STORE_IT_NOW } from '../../api-keys/dto/api-key.dto.js';
import type { ServicePrincipal, ServicePrincipalStatus } from '../service-principal.entity.js';

const STATUSES: ServicePrincipalStatus[] = ['active', 'disabled'];
const USER = { type: String, format: 'uuid', nullable: true } as const;

/** A service principal; its keys are among the API keys. */
export class ServicePrincipalDto {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'uuid' })
  orgId: string;

  @ApiProperty()
  name: string;

  @ApiProperty({ type: [String] })
  scopes: string[];

  @ApiProperty({ enum: STATUSES })
  status: ServicePrincipalStatus;

  @ApiProperty(USER)
  createdBy: string | null;

  @ApiProperty(USER)
  lastUpdatedBy: string | null;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

/** The new key of a principal. */
export class PrincipalKeyDto {
  @ApiProperty({ format: 'uuid', description: 'Its record under /api-keys' })
  apiKeyId: string;

  @ApiProperty({ description: '`svc_` and 32 characters; shown this once' })
  key: string;

  @ApiProperty({ description: 'The first 12 characters' })
  keyPrefix: string;

  @ApiProperty({ description: 'A reminder to store the key' })
  warning: string;
}

export class CreatedServicePrincipalDto extends IntersectionType(ServicePrincipalDto, PrincipalKeyDto) {}

export const toServicePrincipalDto = (row: ServicePrincipal): ServicePrincipalDto => ({
  id: row.id,
  orgId: row.orgId,
  name: row.name,
  scopes: row.scopes,
  status: row.status,
  createdBy: row.createdBy,
  lastUpdatedBy: row.lastUpdatedBy,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});

export const toPrincipalKeyDto = (record: { id: string; keyPrefix: string }, key: string): PrincipalKeyDto => ({
  apiKeyId: record.id,
  key,
  keyPrefix: record.keyPrefix,
  warning: STORE_IT_NOW,
});
