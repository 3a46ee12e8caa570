import { ApiProperty } from '@nestjs/swagger';
import { USER_STATUSES, type UserStatus } from '../../users/user.types.js';

/** A user as a platform administrator sees it: without memberships. */
export class PlatformUserDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the user' })
  id: string;
  @ApiProperty({ format: 'email', description: 'E-mail address of the user' })
  email: string;
  @ApiProperty({ description: 'Name of the user' })
  name: string;
  @ApiProperty({ enum: USER_STATUSES, description: 'State of the user' })
  status: UserStatus;
  @ApiProperty({ type: String, nullable: true, description: 'Only for a disabled user' })
  disabledReason: string | null;
  @ApiProperty({ description: 'Whether the user administers the platform' })
  isPlatformAdmin: boolean;
  @ApiProperty({ description: 'Whether the user has a second factor' })
  mfaEnabled: boolean;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the user last signed in; null: never',
  })
  lastLoginAt: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the user was created' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the user was last changed' })
  updatedAt: string;
}

/** The fields that change without an edit by an administrator. */
export const VOLATILE_PLATFORM_USER_FIELDS = [
  'lastLoginAt',
  'mfaEnabled',
  'updatedAt',
] as const satisfies (keyof PlatformUserDto)[];
