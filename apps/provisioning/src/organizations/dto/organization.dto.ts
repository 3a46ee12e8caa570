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
  @ApiProperty({ example: 'csv', description: 'Name of the other system' })
  system: string;

  @ApiProperty({ example: 'customer-17', description: 'Id of the organization in the other system' })
  externalId: string;
}

/** An organization as partner and system callers see it. */
export class OrganizationDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the organization' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'Partner of the organization' })
  partnerId: string;

  @ApiProperty({ description: 'Name of the organization' })
  name: string;

  @ApiProperty({ description: 'Short name of the organization, unique and usable in URLs' })
  slug: string;

  @ApiProperty({ enum: ORGANIZATION_TYPES, description: 'Kind of the organization' })
  type: OrganizationType;

  @ApiProperty({ enum: ORGANIZATION_STATUSES, description: 'State of the organization' })
  status: OrganizationStatus;

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'Settings of the organization' })
  settings: Record<string, unknown>;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the contract begins; null: not known',
  })
  contractStart: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'When the contract ends; null: open' })
  contractEnd: string | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'Contact that gets the invoices',
  })
  billingContact: BillingContact | null;

  @ApiProperty({ type: [ExternalLinkDto], description: 'Ids of the organization in other systems' })
  externalLinks: ExternalLinkDto[];

  @ApiProperty({ type: 'integer', description: 'Without decommissioned devices' })
  deviceCount: number;

  @ApiProperty({ format: 'date-time', description: 'When the organization was created' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the organization was last changed' })
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
export const VISIBLE_ORGANIZATION = { anyOf: refs(OrganizationDto, OwnOrganizationDto) };
export const VISIBLE_ORGANIZATIONS = {
  type: 'object',
  required: ['data', 'pagination'],
  properties: {
    data: { type: 'array', items: VISIBLE_ORGANIZATION },
    pagination: { $ref: getSchemaPath(SortedPaginationDto) },
  },
};
