import { IsName, IsUuid, PageQueryDto } from '@rmm/validation';

export class ListSitesDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsName({ optional: true, description: 'Part of the name' })
  search?: string;
}
