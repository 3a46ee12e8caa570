import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { LoginUserDto } from '../../users/dto/login-user.dto.js';

/** @see docs/reference/authentication.md */
export class TokensDto {
  @ApiProperty({ description: 'JWT, for `Authorization: Bearer`' })
  accessToken: string;
  @ApiProperty({ type: 'integer', example: 900, description: 'Seconds until the access token expires' })
  expiresInSeconds: number;
}

/** Contained in every response that creates or renews a session. */
export class SessionDto {
  @ApiProperty({ type: TokensDto, description: 'The access token of the session' })
  tokens: TokensDto;
  @ApiProperty({ description: 'The value of the cookie service_csrf_token' })
  csrfToken: string;
}

export class RefreshedSessionDto extends SessionDto {
  @ApiPropertyOptional({ description: 'Only for clients that sent theirs in the body' })
  refreshToken?: string;
}

export class SwitchedSessionDto extends SessionDto {
  @ApiProperty({ type: LoginUserDto, description: 'The signed-in user' })
  user: LoginUserDto;
}
