import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { SessionDto } from '../../sessions/dto/session.dto.js';
import { LoginUserDto } from '../../users/dto/login-user.dto.js';

/** The response to every completed login. @see docs/reference/authentication.md */
export class LoginBodyDto extends SessionDto {
  @ApiProperty({ type: LoginUserDto, description: 'The signed-in user' })
  user: LoginUserDto;
  @ApiProperty({ type: 'boolean', enum: [false], description: 'Always false: the session is complete' })
  mfaRequired: false;
  @ApiProperty({ description: 'True until the bootstrap administrator has changed its password' })
  requiresSetup: boolean;
  @ApiProperty({ description: 'True when protected routes respond with 428 until a factor is set up' })
  mfaEnrollmentRequired: boolean;
  @ApiPropertyOptional({ description: 'Only when a factor must be set up' })
  enrollUrl?: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Until when a second factor must be enrolled; null: no deadline',
  })
  mfaEnrollmentDeadline: string | null;
}
