import { IsName, IsUuid } from '@rmm/validation';
import { SortedPageQueryDto } from '../../lists/dto/sorted-page-query.dto.js';

export class ListSitesDto extends SortedPageQueryDto {
  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsName({ optional: true, description: 'Part of the name' })
  search?: string;
}
