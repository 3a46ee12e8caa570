import { IsUuid, PageQueryDto } from '@rmm/validation';

export class ListRolesDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Only those of this partner; for system callers' })
  partnerId?: string;
}
