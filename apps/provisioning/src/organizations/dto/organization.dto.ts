import type { Caller } from '@rmm/access';
import type { OrganizationStatus } from '@rmm/contracts';
import { ApiProperty } from '@nestjs/swagger';
import {
  ORGANIZATION_STATUSES,
  ORGANIZATION_TYPES,
  type BillingContact,
  type OrganizationType,
} from '../organization.entity.js';
import type { OrganizationView } from '../organizations.repository.js';

export class ExternalLinkDto {
  @ApiProperty()
  system: string;
  @ApiProperty()
  externalId: string;
}

/** What partner and system callers see. */
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
  @ApiProperty({ type: 'integer' })
  deviceCount: number;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

/** What organization callers see of their own. */
export type OwnOrganizationDto = Pick<OrganizationDto, 'id' | 'name' | 'slug' | 'status' | 'settings'>;

export function toOrganizationDto(caller: Caller, row: OrganizationView): OrganizationDto | OwnOrganizationDto {
  const { id, name, slug, status, settings } = row;
  if (caller.tenant.scope === 'organization') {
    return { id, name, slug, status, settings: 'security' in settings ? { security: settings['security'] } : {} };
  }
  return {
    id,
    partnerId: row.partnerId,
    name,
    slug,
    type: row.type,
    status,
    settings,
    contractStart: row.contractStart?.toISOString() ?? null,
    contractEnd: row.contractEnd?.toISOString() ?? null,
    billingContact: row.billingContact,
    externalLinks: row.externalLinks,
    deviceCount: row.deviceCount,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
