import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { SERVICE_PRINCIPAL_STATUSES, type ServicePrincipalStatus } from '../service-principal.entity.js';

const USER = { type: String, format: 'uuid', nullable: true } as const;

/** A service principal; its keys are listed among the API keys. */
export class ServicePrincipalDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the principal' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'Organization of the principal' })
  orgId: string;

  @ApiProperty({ description: 'Name of the principal' })
  name: string;

  @ApiProperty({ type: [String], description: 'What the principal may be used for' })
  scopes: string[];

  @ApiProperty({ enum: SERVICE_PRINCIPAL_STATUSES, description: 'State of the principal' })
  status: ServicePrincipalStatus;

  @ApiProperty({ ...USER, description: 'User who created the principal' })
  createdBy: string | null;

  @ApiProperty({ ...USER, description: 'User who last changed the principal' })
  lastUpdatedBy: string | null;

  @ApiProperty({ format: 'date-time', description: 'When the principal was created' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the principal was last changed' })
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
