import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { SessionDto } from '../sessions/session.dto.js';
import { LoginUserDto } from '../users/dto/login-user.dto.js';
import { MFA_METHODS, type MfaMethod } from '../users/user.js';

/** "The login body" of CONTRACT 4.7. */
export class LoginBodyDto extends SessionDto {
  @ApiProperty({ type: LoginUserDto })
  user: LoginUserDto;
  @ApiProperty({ type: 'boolean', enum: [false] })
  mfaRequired: false;
  @ApiProperty({ description: 'The bootstrap administrator has yet to change its password' })
  requiresSetup: boolean;
  @ApiProperty({ description: 'Protected routes answer 428 until a factor is set up' })
  mfaEnrollmentRequired: boolean;
  @ApiPropertyOptional({ description: 'Only when a factor must be set up' })
  enrollUrl?: string;
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  mfaEnrollmentDeadline: string | null;
}

/** The answer while a factor is missing. */
export class MfaChallengeDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  mfaRequired: true;
  @ApiProperty({ description: 'For POST /auth/mfa/verify' })
  tempToken: string;
  @ApiProperty({ enum: MFA_METHODS })
  mfaMethod: MfaMethod;
  @ApiProperty()
  passkeyAvailable: boolean;
  @ApiProperty({ type: String, nullable: true })
  phoneLast4: string | null;
  @ApiProperty({ type: 'null' })
  user: null;
  @ApiProperty({ type: 'null' })
  tokens: null;
}
