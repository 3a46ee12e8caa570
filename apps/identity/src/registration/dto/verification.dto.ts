import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { PartnerStatus } from '@rmm/contracts';
import { PARTNER_STATUSES } from '../../partners/partner.entity.js';
import { SessionDto } from '../../sessions/dto/session.dto.js';
import { LoginUserDto } from '../../users/dto/login-user.dto.js';

export class NewPartnerDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the partner' })
  id: string;
  @ApiProperty({ description: 'Name of the partner' })
  name: string;
  @ApiProperty({ description: 'Short name of the partner, unique and usable in URLs' })
  slug: string;
  @ApiProperty({ enum: PARTNER_STATUSES, description: 'State of the partner' })
  status: PartnerStatus;
}

/** The partner was created and its administrator is logged in. */
export class VerifiedDto extends SessionDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true' })
  verified: true;
  @ApiProperty({ type: LoginUserDto, description: 'The signed-in user' })
  user: LoginUserDto;
  @ApiProperty({ type: NewPartnerDto, description: 'The partner that was created' })
  partner: NewPartnerDto;
  @ApiProperty({ type: 'boolean', enum: [false], description: 'Whether a second factor is still to be verified' })
  mfaRequired: false;
  @ApiProperty({ description: 'Protected routes return 428 until a factor is set up' })
  mfaEnrollmentRequired: boolean;
  @ApiPropertyOptional({ description: 'Only when a factor must be set up' })
  enrollUrl?: string;
}

/** The address has a user by now, who can log in. */
export class SignInInsteadDto {
  @ApiProperty({ type: 'boolean', enum: [false], description: 'Always false' })
  verified: false;
  @ApiProperty({ enum: ['sign_in'], description: 'What to do next' })
  status: 'sign_in';
}

/** An address of an existing user was verified. A change of address ends every session. */
export class ConfirmedAddressDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true' })
  verified: true;
  @ApiProperty({ enum: ['email_change', 'email_verification'], description: 'What the address was verified for' })
  purpose: 'email_change' | 'email_verification';
  @ApiProperty({ format: 'email', description: 'The address of the user from now on' })
  email: string;
}

export class VerificationSentDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true' })
  sent: true;
}
