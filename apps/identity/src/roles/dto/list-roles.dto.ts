import { IsUuid, PageQueryDto } from '@rmm/validation';

export class ListRolesDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  partnerId?: string;
}
