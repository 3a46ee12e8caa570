import type { OrganizationStatus } from '@rmm/contracts';
import { IsName, IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { UnservedParameters } from '../../unserved-parameters.decorator.js';
import { ORGANIZATION_STATUSES } from '../organization.entity.js';

@UnservedParameters('orgId', 'orgIds', 'type', 'sort', 'sortDir', 'order', 'cursor', 'include')
export class ListOrganizationsDto extends PageQueryDto {
  @IsName({ optional: true, description: 'Part of the name or slug' })
  search?: string;

  @IsOneOf(ORGANIZATION_STATUSES, { optional: true })
  status?: OrganizationStatus;

  @IsUuid({ optional: true, description: 'System scope' })
  partnerId?: string;
}
