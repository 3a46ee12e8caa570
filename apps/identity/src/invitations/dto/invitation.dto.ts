import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { USER_STATUSES, type UserStatus } from '../../users/user.js';

/** Fields of the delivery; the link is returned only when no mail could be sent. */
export class InviteDeliveryDto {
  @ApiProperty()
  inviteEmailSent: boolean;
  @ApiPropertyOptional({ description: 'Only when no mail could be sent' })
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
  @ApiProperty({ format: 'uuid' })
  roleId: string;
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
