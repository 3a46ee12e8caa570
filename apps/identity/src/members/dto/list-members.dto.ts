import { IsName, IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { USER_STATUSES, type UserStatus } from '../../users/user.types.js';

export class ListUsersDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Only those of this partner; for system callers' })
  partnerId?: string;

  @IsOneOf(USER_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: UserStatus;

  @IsUuid({ optional: true, description: 'Only those with this role' })
  roleId?: string;

  @IsName({ optional: true, description: 'Part of a name or e-mail address' })
  search?: string;
}
