import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { PartnerStatus } from '@rmm/contracts';
import { PARTNER_STATUSES } from '../../partners/partner.entity.js';
import { SessionDto } from '../../sessions/session.dto.js';
import { LoginUserDto } from '../../users/dto/login-user.dto.js';

export class NewPartnerDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty()
  name: string;
  @ApiProperty()
  slug: string;
  @ApiProperty({ enum: PARTNER_STATUSES })
  status: PartnerStatus;
}

/** The partner was created and its administrator is logged in. */
export class VerifiedDto extends SessionDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  verified: true;
  @ApiProperty({ type: LoginUserDto })
  user: LoginUserDto;
  @ApiProperty({ type: NewPartnerDto })
  partner: NewPartnerDto;
  @ApiProperty({ type: 'boolean', enum: [false] })
  mfaRequired: false;
  @ApiProperty({ description: 'Protected routes return 428 until a factor is set up' })
  mfaEnrollmentRequired: boolean;
  @ApiPropertyOptional({ description: 'Only when a factor must be set up' })
  enrollUrl?: string;
}

/** The address has a user by now, who can log in. */
export class SignInInsteadDto {
  @ApiProperty({ type: 'boolean', enum: [false] })
  verified: false;
  @ApiProperty({ enum: ['sign_in'] })
  status: 'sign_in';
}

/** An address of an existing user was verified. A change of address ends every session. */
export class ConfirmedAddressDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  verified: true;
  @ApiProperty({ enum: ['email_change', 'email_verification'] })
  purpose: 'email_change' | 'email_verification';
  @ApiProperty({ format: 'email', description: 'The address of the user from now on' })
  email: string;
}

export class VerificationSentDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  sent: true;
}
