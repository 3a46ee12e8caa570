import { ApiProperty } from '@nestjs/swagger';
import { USER_STATUSES, type UserStatus } from '../../users/user.js';

/** A user as a platform administrator sees it: without memberships. */
export class PlatformUserDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'email' })
  email: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ enum: USER_STATUSES })
  status: UserStatus;
  @ApiProperty({ type: String, nullable: true, description: 'Only for a disabled user' })
  disabledReason: string | null;
  @ApiProperty()
  isPlatformAdmin: boolean;
  @ApiProperty()
  mfaEnabled: boolean;
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  lastLoginAt: string | null;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}
