import { IsUuid, PageQueryDto } from '@rmm/validation';

export class ListInvitationsDto extends PageQueryDto {
  @IsUuid({ optional: true, description: "Manage this organization's invitations" })
  orgId?: string;

  @IsUuid({ optional: true, description: 'For system callers' })
  partnerId?: string;
}
