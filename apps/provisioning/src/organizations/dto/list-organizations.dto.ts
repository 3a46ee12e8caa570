import type { OrganizationStatus } from '@rmm/contracts';
import { IsName, IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { ORGANIZATION_STATUSES } from '../organization.entity.js';

export class ListOrganizationsDto extends PageQueryDto {
  @IsName({ optional: true, description: 'Part of the name or slug' })
  search?: string;

  @IsOneOf(ORGANIZATION_STATUSES, { optional: true })
  status?: OrganizationStatus;

  @IsUuid({ optional: true, description: 'System scope' })
  partnerId?: string;
}
