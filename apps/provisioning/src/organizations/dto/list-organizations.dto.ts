import type { OrganizationStatus } from '@rmm/contracts';
import { IsFlag, IsName, IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { ORGANIZATION_STATUSES } from '../organization.entity.js';

export class ListOrganizationsDto extends PageQueryDto {
  @IsName({ optional: true, description: 'Part of the name or slug' })
  search?: string;

  @IsOneOf(ORGANIZATION_STATUSES, { optional: true })
  status?: OrganizationStatus;

  @IsUuid({ optional: true, description: 'System scope' })
  partnerId?: string;

  @IsFlag({
    optional: true,
    description: 'Lists deleted organizations that can still be restored instead of live ones',
  })
  deleted = false;
}
