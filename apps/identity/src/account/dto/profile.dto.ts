import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { AccessScope } from '@rmm/contracts';
import { ACCESS_SCOPES } from '../../members/membership.types.js';
import { MFA_METHODS, USER_STATUSES, type MfaMethod, type UserStatus } from '../../users/user.types.js';

const nullableText = { type: String, nullable: true } as const;
const nullableId = { ...nullableText, format: 'uuid' } as const;
const nullableDate = { ...nullableText, format: 'date-time' } as const;

/** Fields of the signed-in user that every profile has. */
export class SelfDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the user' })
  id: string;
  @ApiProperty({ format: 'email', description: 'E-mail address of the user' })
  email: string;
  @ApiProperty({ description: 'Name of the user' })
  name: string;
  @ApiProperty({ ...nullableText, description: 'Address of the picture of the user; null without one' })
  avatarUrl: string | null;
  @ApiProperty({ enum: USER_STATUSES, description: 'State of the user' })
  status: UserStatus;
  @ApiProperty({ description: 'Whether the user has a second factor' })
  mfaEnabled: boolean;
  @ApiProperty({
    type: String,
    enum: MFA_METHODS,
    nullable: true,
    description: 'Second factor of the user; null without one',
  })
  mfaMethod: MfaMethod | null;
  @ApiProperty({ format: 'date-time', description: 'When the user was created' })
  createdAt: string;
  @ApiProperty({ ...nullableDate, description: 'When the user last signed in; null: never' })
  lastLoginAt: string | null;
}

export class AccountUserDto extends SelfDto {
  @ApiProperty({ description: 'Whether a phone number for codes is verified' })
  phoneVerified: boolean;
  @ApiProperty({ ...nullableText, description: 'The last four digits of the phone number for codes; null without one' })
  phoneLast4: string | null;
  @ApiProperty({ description: 'Whether the user can sign in with a password' })
  hasPassword: boolean;
  @ApiProperty({ type: 'integer', description: 'Number of unused recovery codes' })
  recoveryCodesLeft: number;
}

/** A membership of the user; ids that do not apply are null. */
export class MembershipDto {
  @ApiProperty({ ...nullableId, description: 'Partner of the membership' })
  partnerId: string | null;
  @ApiProperty({ ...nullableText, description: 'Name of the partner' })
  partnerName: string | null;
  @ApiProperty({ ...nullableId, description: 'Organization of the membership' })
  orgId: string | null;
  @ApiProperty({ ...nullableText, description: 'Name of the organization' })
  orgName: string | null;
  @ApiProperty({ ...nullableId, description: 'Role of the membership' })
  roleId: string | null;
  @ApiProperty({ ...nullableText, description: 'Name of the role' })
  roleName: string | null;
  @ApiProperty({
    enum: ACCESS_SCOPES,
    description: 'Whether it covers the whole system, a partner or one organization',
  })
  scope: AccessScope;
  @ApiProperty({ description: 'The membership of this session' })
  current: boolean;
}

/** A tenant that invited the user, who is no member until it accepts. */
export class PendingMembershipDto {
  @ApiProperty({ format: 'uuid', description: 'Partner of the membership' })
  partnerId: string;
  @ApiProperty({ ...nullableText, description: 'Name of the partner' })
  partnerName: string | null;
  @ApiProperty({ ...nullableId, description: 'Organization of the membership' })
  orgId: string | null;
  @ApiProperty({ ...nullableText, description: 'Name of the organization' })
  orgName: string | null;
  @ApiProperty({ ...nullableId, description: 'Role of the membership' })
  roleId: string | null;
  @ApiProperty({ ...nullableText, description: 'Name of the role' })
  roleName: string | null;
  @ApiProperty({
    enum: ACCESS_SCOPES,
    description: 'Whether it covers the whole system, a partner or one organization',
  })
  scope: AccessScope;
  @ApiProperty({ format: 'date-time', description: 'When the membership was created' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the link becomes invalid' })
  expiresAt: string;
}

/** The body of GET /auth/me. */
export class AccountDto {
  @ApiProperty({ type: AccountUserDto, description: 'The signed-in user' })
  user: AccountUserDto;
  @ApiProperty({ type: [MembershipDto], description: 'The memberships of the user' })
  memberships: MembershipDto[];
  @ApiProperty({ type: [PendingMembershipDto], description: 'Accept with the mailed link, decline with /auth/leave' })
  pendingMemberships: PendingMembershipDto[];
}

export class PermissionDto {
  @ApiProperty({ example: 'devices', description: 'Resource of the permission' })
  resource: string;
  @ApiProperty({ example: 'read', description: 'Action on the resource' })
  action: string;
}

/** The body of GET /users/me. */
export class ProfileDto extends SelfDto {
  @ApiProperty({ description: 'Whether the user administers the platform' })
  isPlatformAdmin: boolean;
  @ApiProperty({ ...nullableDate, description: 'When the user completed the first set-up; null: not yet' })
  setupCompletedAt: string | null;
  @ApiProperty({ ...nullableDate, description: 'When the password was last changed' })
  passwordChangedAt: string | null;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'Settings of the user interface, kept for its clients',
  })
  preferences: Record<string, unknown>;
  @ApiProperty({ ...nullableId, description: 'Partner of the session; null for system sessions' })
  partnerId: string | null;
  @ApiProperty({ ...nullableId, description: 'Organization of the session; null for partner-wide and system sessions' })
  orgId: string | null;
  @ApiProperty({ enum: ACCESS_SCOPES, description: 'Level of the session' })
  scope: AccessScope;
  @ApiProperty({ ...nullableText, description: 'Language tag of the partner; null without one' })
  partnerDefaultLocale: string | null;
  @ApiProperty({ type: [PermissionDto], description: 'Permissions in force' })
  permissions: PermissionDto[];
  @ApiProperty({ description: 'Whether the user may manage records of all organizations of the partner' })
  canManagePartnerWide: boolean;
  @ApiProperty({ description: 'True until the bootstrap administrator has changed its password' })
  requiresSetup: boolean;
}

/** The profile, and the state of a requested address. */
export class UpdatedProfileDto extends ProfileDto {
  @ApiPropertyOptional({ format: 'email', description: 'Requested address that is not verified yet' })
  pendingEmail?: string;
  @ApiPropertyOptional({ format: 'date-time', description: 'When the address was requested' })
  pendingEmailRequestedAt?: string;
  @ApiPropertyOptional({ description: 'A link was mailed to the new address' })
  verificationSent?: boolean;
}
