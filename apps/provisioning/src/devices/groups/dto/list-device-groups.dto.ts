import { IsName, IsUuid } from '@rmm/validation';
import { SortedPageQueryDto } from '../../../lists/dto/sorted-page-query.dto.js';

export class ListDeviceGroupsDto extends SortedPageQueryDto {
  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Only those of this site' })
  siteId?: string;

  @IsName({ optional: true, description: 'Part of the name' })
  search?: string;
}
