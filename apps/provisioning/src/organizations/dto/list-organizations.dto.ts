import type { OrganizationStatus } from '@rmm/contracts';
import { IsFlag, IsName, IsOneOf, IsUuid } from '@rmm/validation';
import { SortedPageQueryDto } from '../../lists/dto/sorted-page-query.dto.js';
import { ORGANIZATION_STATUSES } from '../organization.entity.js';

export class ListOrganizationsDto extends SortedPageQueryDto {
  @IsName({ optional: true, description: 'Part of the name or slug' })
  search?: string;

  @IsOneOf(ORGANIZATION_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: OrganizationStatus;

  @IsUuid({ optional: true, description: 'System scope' })
  partnerId?: string;

  @IsFlag({
    optional: true,
    description: 'Lists deleted organizations that can still be restored instead of live ones',
  })
  deleted = false;
}
