import { IsName, IsOneOf, IsText } from '@rmm/validation';
import { USER_STATUSES, type UserStatus } from '../../users/user.types.js';

export class UpdateUserDto {
  @IsName({ optional: true, description: 'Name of the user' })
  name?: string;

  @IsOneOf(USER_STATUSES, { optional: true, description: 'Any other status than active ends every session' })
  status?: UserStatus;

  @IsText({ optional: true, nullable: true, max: 1000, description: 'Kept while the user is disabled' })
  disabledReason?: string | null;
}
