import { ApiProperty } from '@nestjs/swagger';

/** The field `user` of a login response. */
export class LoginUserDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'email' })
  email: string;
  @ApiProperty()
  name: string;
  @ApiProperty()
  mfaEnabled: boolean;
  @ApiProperty({ type: String, nullable: true })
  avatarUrl: string | null;
  @ApiProperty()
  isPlatformAdmin: boolean;
}
