import { IsName, IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { USER_STATUSES, type UserStatus } from '../../users/user.js';

export class ListUsersDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  partnerId?: string;

  @IsOneOf(USER_STATUSES, { optional: true })
  status?: UserStatus;

  @IsUuid({ optional: true })
  roleId?: string;

  @IsName({ optional: true, description: 'Part of a name or e-mail address' })
  search?: string;
}
