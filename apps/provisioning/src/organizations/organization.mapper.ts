import type { Caller } from '@rmm/access';
import type { OrganizationDto, OwnOrganizationDto } from './dto/organization.dto.js';
import type { OrganizationView } from './organizations.repository.js';

/** Maps an organization for the caller: organization callers see a few fields of their own organization. */
export function toOrganizationDto(caller: Caller, row: OrganizationView): OrganizationDto | OwnOrganizationDto {
  const { id, name, slug, status, security } = row;
  const policy = security === null ? {} : { security };
  if (caller.tenant.scope === 'organization') return { id, name, slug, status, settings: policy };
  return {
    id,
    partnerId: row.partnerId,
    name,
    slug,
    type: row.type,
    status,
    settings: { ...row.settings, ...policy },
    contractStart: row.contractStart?.toISOString() ?? null,
    contractEnd: row.contractEnd?.toISOString() ?? null,
    billingContact: row.billingContact,
    externalLinks: row.externalLinks,
    deviceCount: row.deviceCount,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    deletedAt: row.deletedAt?.toISOString() ?? null,
  };
}
