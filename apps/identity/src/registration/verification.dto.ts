import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { PartnerStatus } from '@rmm/contracts';
import { PARTNER_STATUSES } from '../partners/partner.entity.js';
import { SessionDto } from '../sessions/session.dto.js';
import { LoginUserDto } from '../users/dto/login-user.dto.js';

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

/** The partner is made and its administrator signed in. @see CONTRACT.md 4.7 */
export class VerifiedDto extends SessionDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  verified: true;
  @ApiProperty({ type: LoginUserDto })
  user: LoginUserDto;
  @ApiProperty({ type: NewPartnerDto })
  partner: NewPartnerDto;
  @ApiProperty({ type: 'boolean', enum: [false] })
  mfaRequired: false;
  @ApiProperty({ description: 'Protected routes answer 428 until a factor is set up' })
  mfaEnrollmentRequired: boolean;
  @ApiPropertyOptional({ description: 'Only when a factor must be set up' })
  enrollUrl?: string;
}

/** Somebody made an account of the address meanwhile. */
export class SignInInsteadDto {
  @ApiProperty({ type: 'boolean', enum: [false] })
  verified: false;
  @ApiProperty({ enum: ['sign_in'] })
  status: 'sign_in';
}

/** An address of an existing account is proven; after a change of it every session is ended. */
export class ConfirmedAddressDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  verified: true;
  @ApiProperty({ enum: ['email_change', 'email_verification'] })
  purpose: 'email_change' | 'email_verification';
  @ApiProperty({ format: 'email', description: 'The one the account uses from now on' })
  email: string;
}

export class VerificationSentDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  sent: true;
}
