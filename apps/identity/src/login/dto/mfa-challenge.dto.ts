import { ApiProperty } from '@nestjs/swagger';
import { MFA_METHODS, type MfaMethod } from '../../users/user.js';

/** The response to a correct password while the second factor is missing. */
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
