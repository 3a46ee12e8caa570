import { ApiProperty } from '@nestjs/swagger';
import { MFA_METHODS, type MfaMethod } from '../../users/user.types.js';

/** The response to a correct password while the second factor is missing. */
export class MfaChallengeDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true: verify the second factor next' })
  mfaRequired: true;
  @ApiProperty({ description: 'For POST /auth/mfa/verify' })
  tempToken: string;
  @ApiProperty({ enum: MFA_METHODS, description: 'Second factor of the user; null without one' })
  mfaMethod: MfaMethod;
  @ApiProperty({ description: 'Whether the second factor can be a passkey' })
  passkeyAvailable: boolean;
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'The last four digits of the phone number for codes; null without one',
  })
  phoneLast4: string | null;
  @ApiProperty({ type: 'null', description: 'Null until the second factor is verified' })
  user: null;
  @ApiProperty({ type: 'null', description: 'Null until the second factor is verified' })
  tokens: null;
}
