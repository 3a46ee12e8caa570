import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { SERVICE_PRINCIPAL_STATUSES, type ServicePrincipalStatus } from '../service-principal.entity.js';

const USER = { type: String, format: 'uuid', nullable: true } as const;

/** A service principal; its keys are listed among the API keys. */
export class ServicePrincipalDto {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'uuid' })
  orgId: string;

  @ApiProperty()
  name: string;

  @ApiProperty({ type: [String] })
  scopes: string[];

  @ApiProperty({ enum: SERVICE_PRINCIPAL_STATUSES })
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

  @ApiProperty({ description: '`svc_` and 32 characters; shown only once' })
  key: string;

  @ApiProperty({ description: 'The first 12 characters' })
  keyPrefix: string;

  @ApiProperty({ description: 'A reminder to store the key' })
  warning: string;
}

export class CreatedServicePrincipalDto extends IntersectionType(ServicePrincipalDto, PrincipalKeyDto) {}
