import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { MEMBERSHIP_STATUSES, type MembershipStatus } from '../../members/membership.js';
import { USER_STATUSES, type UserStatus } from '../../users/user.js';

/** Fields of the delivery; the link is returned only when no mail could be sent. */
export class InviteDeliveryDto {
  @ApiProperty()
  inviteEmailSent: boolean;
  @ApiPropertyOptional({
    description: 'Only when no mail could be sent and the caller administers every membership of the account',
  })
  inviteUrl?: string;
  @ApiPropertyOptional({ description: 'Only when no mail could be sent' })
  warning?: string;
}

export class InviteResentDto extends InviteDeliveryDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;
}

export class InvitedUserDto extends InviteDeliveryDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'email' })
  email: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ enum: USER_STATUSES, description: 'Status of the account, which may have existed before' })
  status: UserStatus;
  @ApiProperty({ enum: MEMBERSHIP_STATUSES, description: 'Pending until the user accepts' })
  membershipStatus: MembershipStatus;
  @ApiProperty({ format: 'uuid' })
  roleId: string;
}

/** An invitation that is not accepted yet, with the address and the name that the tenant gave. */
export class InvitationDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the user' })
  id: string;
  @ApiProperty({ format: 'email' })
  email: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  roleId: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  invitedBy: string | null;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the link becomes invalid; a new one can be sent' })
  expiresAt: string;
}

/** The organization or partner an invitation is for. */
export class InvitePreviewDto {
  @ApiProperty({ format: 'email' })
  email: string;
  @ApiProperty()
  name: string;
  @ApiPropertyOptional()
  partnerName?: string;
  @ApiPropertyOptional()
  orgName?: string;
}
