import { ApiProperty } from '@nestjs/swagger';

/** The field `user` of a login response. */
export class LoginUserDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the user' })
  id: string;
  @ApiProperty({ format: 'email', description: 'E-mail address of the user' })
  email: string;
  @ApiProperty({ description: 'Name of the user' })
  name: string;
  @ApiProperty({ description: 'Whether the user has a second factor' })
  mfaEnabled: boolean;
  @ApiProperty({ type: String, nullable: true, description: 'Address of the picture of the user; null without one' })
  avatarUrl: string | null;
  @ApiProperty({ description: 'Whether the user administers the platform' })
  isPlatformAdmin: boolean;
}
