import { ApiProperty, getSchemaPath, PickType, refs } from '@nestjs/swagger';
import type { OrganizationStatus } from '@rmm/contracts';
import { SortedPaginationDto } from '../../lists/dto/sorted-page.dto.js';
import {
  ORGANIZATION_STATUSES,
  ORGANIZATION_TYPES,
  type BillingContact,
  type OrganizationType,
} from '../organization.entity.js';

export class ExternalLinkDto {
  @ApiProperty({ example: 'csv' })
  system: string;

  @ApiProperty({ example: 'customer-17' })
  externalId: string;
}

/** An organization as partner and system callers see it. */
export class OrganizationDto {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'uuid' })
  partnerId: string;

  @ApiProperty()
  name: string;

  @ApiProperty()
  slug: string;

  @ApiProperty({ enum: ORGANIZATION_TYPES })
  type: OrganizationType;

  @ApiProperty({ enum: ORGANIZATION_STATUSES })
  status: OrganizationStatus;

  @ApiProperty({ type: 'object', additionalProperties: true })
  settings: Record<string, unknown>;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  contractStart: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  contractEnd: string | null;

  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true })
  billingContact: BillingContact | null;

  @ApiProperty({ type: [ExternalLinkDto] })
  externalLinks: ExternalLinkDto[];

  @ApiProperty({ type: 'integer', description: 'Without decommissioned devices' })
  deviceCount: number;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'Null for a live organization' })
  deletedAt: string | null;
}

/** The fields of their own organization that organization callers see. */
export class OwnOrganizationDto extends PickType(OrganizationDto, [
  'id',
  'name',
  'slug',
  'status',
  'settings',
] as const) {}

/** OpenAPI schemas of the responses that depend on the scope of the caller. */
export const VISIBLE_ORGANIZATION = { oneOf: refs(OrganizationDto, OwnOrganizationDto) };
export const VISIBLE_ORGANIZATIONS = {
  type: 'object',
  required: ['data', 'pagination'],
  properties: {
    data: { type: 'array', items: VISIBLE_ORGANIZATION },
    pagination: { $ref: getSchemaPath(SortedPaginationDto) },
  },
};
