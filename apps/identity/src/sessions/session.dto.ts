import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { LoginUserDto } from '../users/dto/login-user.dto.js';

/** `tokens` of an answer. @see CONTRACT.md 2.1 */
export class TokensDto {
  @ApiProperty({ description: 'JWT, for `Authorization: Bearer`' })
  accessToken: string;
  @ApiProperty({ type: 'integer', example: 900 })
  expiresInSeconds: number;
}

/** What every answer with a session carries. */
export class SessionDto {
  @ApiProperty({ type: TokensDto })
  tokens: TokensDto;
  @ApiProperty({ description: 'The value of the cookie service_csrf_token' })
  csrfToken: string;
}

export class RefreshedSessionDto extends SessionDto {
  @ApiPropertyOptional({ description: 'Only for clients that sent theirs in the body' })
  refreshToken?: string;
}

export class SwitchedSessionDto extends SessionDto {
  @ApiProperty({ type: LoginUserDto })
  user: LoginUserDto;
}
