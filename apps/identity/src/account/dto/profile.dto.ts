import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { AccessScope } from '@rmm/contracts';
import { ACCESS_SCOPES } from '../../members/membership.js';
import { MFA_METHODS, USER_STATUSES, type MfaMethod, type UserStatus } from '../../users/user.js';

const nullableText = { type: String, nullable: true } as const;
const nullableId = { ...nullableText, format: 'uuid' } as const;
const nullableDate = { ...nullableText, format: 'date-time' } as const;

/** Fields of the signed-in user that every profile has. */
export class SelfDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'email' })
  email: string;
  @ApiProperty()
  name: string;
  @ApiProperty(nullableText)
  avatarUrl: string | null;
  @ApiProperty({ enum: USER_STATUSES })
  status: UserStatus;
  @ApiProperty()
  mfaEnabled: boolean;
  @ApiProperty({ type: String, enum: MFA_METHODS, nullable: true })
  mfaMethod: MfaMethod | null;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty(nullableDate)
  lastLoginAt: string | null;
}

export class AccountUserDto extends SelfDto {
  @ApiProperty()
  phoneVerified: boolean;
  @ApiProperty(nullableText)
  phoneLast4: string | null;
  @ApiProperty()
  hasPassword: boolean;
  @ApiProperty({ type: 'integer' })
  recoveryCodesLeft: number;
}

/** A membership of the user; ids that do not apply are null. */
export class MembershipDto {
  @ApiProperty(nullableId)
  partnerId: string | null;
  @ApiProperty(nullableText)
  partnerName: string | null;
  @ApiProperty(nullableId)
  orgId: string | null;
  @ApiProperty(nullableText)
  orgName: string | null;
  @ApiProperty(nullableId)
  roleId: string | null;
  @ApiProperty(nullableText)
  roleName: string | null;
  @ApiProperty({ enum: ACCESS_SCOPES })
  scope: AccessScope;
  @ApiProperty({ description: 'The membership of this session' })
  current: boolean;
}

/** A tenant that invited the user, who is no member until it accepts. */
export class PendingMembershipDto {
  @ApiProperty({ format: 'uuid' })
  partnerId: string;
  @ApiProperty(nullableText)
  partnerName: string | null;
  @ApiProperty(nullableId)
  orgId: string | null;
  @ApiProperty(nullableText)
  orgName: string | null;
  @ApiProperty(nullableId)
  roleId: string | null;
  @ApiProperty(nullableText)
  roleName: string | null;
  @ApiProperty({ enum: ACCESS_SCOPES })
  scope: AccessScope;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the link becomes invalid' })
  expiresAt: string;
}

/** The body of GET /auth/me. */
export class AccountDto {
  @ApiProperty({ type: AccountUserDto })
  user: AccountUserDto;
  @ApiProperty({ type: [MembershipDto] })
  memberships: MembershipDto[];
  @ApiProperty({ type: [PendingMembershipDto], description: 'Accept with the mailed link, decline with /auth/leave' })
  pendingMemberships: PendingMembershipDto[];
}

export class PermissionDto {
  @ApiProperty({ example: 'devices' })
  resource: string;
  @ApiProperty({ example: 'read' })
  action: string;
}

/** The body of GET /users/me. */
export class ProfileDto extends SelfDto {
  @ApiProperty()
  isPlatformAdmin: boolean;
  @ApiProperty(nullableDate)
  setupCompletedAt: string | null;
  @ApiProperty(nullableDate)
  passwordChangedAt: string | null;
  @ApiProperty({ type: 'object', additionalProperties: true })
  preferences: Record<string, unknown>;
  @ApiProperty(nullableId)
  partnerId: string | null;
  @ApiProperty(nullableId)
  orgId: string | null;
  @ApiProperty({ enum: ACCESS_SCOPES })
  scope: AccessScope;
  @ApiProperty(nullableText)
  partnerDefaultLocale: string | null;
  @ApiProperty({ type: [PermissionDto], description: 'Permissions in force' })
  permissions: PermissionDto[];
  @ApiProperty()
  canManagePartnerWide: boolean;
  @ApiProperty({ description: 'True until the bootstrap administrator has changed its password' })
  requiresSetup: boolean;
}

/** The profile, and the state of a requested address. */
export class UpdatedProfileDto extends ProfileDto {
  @ApiPropertyOptional({ format: 'email' })
  pendingEmail?: string;
  @ApiPropertyOptional({ format: 'date-time' })
  pendingEmailRequestedAt?: string;
  @ApiPropertyOptional({ description: 'A link was mailed to the new address' })
  verificationSent?: boolean;
}
