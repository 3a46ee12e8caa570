import { IsName, IsUuid, PageQueryDto } from '@rmm/validation';
import { UnservedParameters } from '../../unserved-parameters.decorator.js';

@UnservedParameters('orgIds', 'siteIds', 'partnerId', 'status', 'sort', 'sortDir', 'order', 'cursor', 'include')
export class ListSitesDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsName({ optional: true, description: 'Part of the name' })
  search?: string;
}
