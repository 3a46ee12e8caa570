import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { MEMBERSHIP_STATUSES, type MembershipStatus } from '../../members/membership.types.js';
import { USER_STATUSES, type UserStatus } from '../../users/user.types.js';

/** Fields of the delivery; the link is returned only when no mail could be sent. */
export class InviteDeliveryDto {
  @ApiProperty({ description: 'Whether the invitation was mailed' })
  inviteEmailSent: boolean;
  @ApiPropertyOptional({
    description: 'Only when no mail could be sent and the caller administers every membership of the account',
  })
  inviteUrl?: string;
  @ApiPropertyOptional({ description: 'Only when no mail could be sent' })
  warning?: string;
}

export class InviteResentDto extends InviteDeliveryDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true; a failure is an error response' })
  success: true;
}

export class InvitedUserDto extends InviteDeliveryDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the user' })
  id: string;
  @ApiProperty({ format: 'email', description: 'E-mail address of the user' })
  email: string;
  @ApiProperty({ description: 'Name of the user' })
  name: string;
  @ApiProperty({ enum: USER_STATUSES, description: 'Status of the account, which may have existed before' })
  status: UserStatus;
  @ApiProperty({ enum: MEMBERSHIP_STATUSES, description: 'Pending until the user accepts' })
  membershipStatus: MembershipStatus;
  @ApiProperty({ format: 'uuid', description: 'Role of the user' })
  roleId: string;
}

/** An invitation that is not accepted yet, with the address and the name that the tenant gave. */
export class InvitationDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the user' })
  id: string;
  @ApiProperty({ format: 'email', description: 'E-mail address of the invited user' })
  email: string;
  @ApiProperty({ description: 'Name of the invited user' })
  name: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Role that the user gets' })
  roleId: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'User who invited' })
  invitedBy: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the invitation was created' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the link becomes invalid; a new one can be sent' })
  expiresAt: string;
}

/** The organization or partner an invitation is for. */
export class InvitePreviewDto {
  @ApiProperty({ format: 'email', description: 'E-mail address of the invited user' })
  email: string;
  @ApiProperty({ description: 'Name of the invited user' })
  name: string;
  @ApiPropertyOptional({ description: 'Name of the partner' })
  partnerName?: string;
  @ApiPropertyOptional({ description: 'Name of the organization' })
  orgName?: string;
}
