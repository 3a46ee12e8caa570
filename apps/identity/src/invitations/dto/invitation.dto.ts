import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { USER_STATUSES, type UserStatus } from '../../users/user.js';

/** How somebody was told. The link is answered only when no mail could be sent. */
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

/** @see CONTRACT.md 4.5 */
export class InvitedUserDto extends InviteDeliveryDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'email' })
  email: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ enum: USER_STATUSES, description: 'Of the account, which the address may have had before' })
  status: UserStatus;
  @ApiProperty({ format: 'uuid' })
  roleId: string;
}

/** What an invitation is for: an organization or a partner. @see CONTRACT.md 4.7 */
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
