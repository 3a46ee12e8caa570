import { hasFullPartnerAccess, type UserCaller } from '@rmm/access';
import { splitPermission } from '@rmm/permissions';
import type { PendingMembership } from '../invitations/invitations.repository.js';
import { sameMembership } from '../members/membership.types.js';
import type { User, UserMembership } from '../users/user.types.js';
import type { AccountDto, MembershipDto, PendingMembershipDto, ProfileDto } from './dto/profile.dto.js';

export interface AccountParts {
  recoveryCodesLeft: number;
  invitations: readonly PendingMembership[];
}

export const toAccountDto = (
  user: User,
  caller: UserCaller,
  { recoveryCodesLeft, invitations }: AccountParts,
): AccountDto => ({
  user: {
    id: user.id,
    email: user.email,
    name: user.name,
    avatarUrl: user.avatarUrl,
    mfaEnabled: user.mfaEnabled,
    mfaMethod: user.mfaMethod,
    phoneVerified: user.phoneVerified,
    phoneLast4: user.phoneNumber?.slice(-4) ?? null,
    status: user.status,
    lastLoginAt: toIso(user.lastLoginAt),
    createdAt: user.createdAt.toISOString(),
    hasPassword: user.passwordHash !== null,
    recoveryCodesLeft,
  },
  memberships: user.memberships.map((membership) => toMembershipDto(membership, caller)),
  pendingMemberships: invitations.map(toPendingMembershipDto),
});

export const toProfileDto = (user: User, caller: UserCaller): ProfileDto => ({
  id: user.id,
  email: user.email,
  name: user.name,
  avatarUrl: user.avatarUrl,
  status: user.status,
  mfaEnabled: user.mfaEnabled,
  mfaMethod: user.mfaMethod,
  isPlatformAdmin: user.isPlatformAdmin,
  createdAt: user.createdAt.toISOString(),
  lastLoginAt: toIso(user.lastLoginAt),
  setupCompletedAt: toIso(user.setupCompletedAt),
  passwordChangedAt: toIso(user.passwordChangedAt),
  preferences: user.preferences,
  partnerId: caller.partnerId,
  orgId: caller.orgId,
  scope: caller.scope,
  partnerDefaultLocale: user.memberships.find((m) => sameMembership(m, caller))?.partnerLocale ?? null,
  permissions: [...caller.permissions].sort().map(splitPermission),
  canManagePartnerWide: caller.scope !== 'organization' && hasFullPartnerAccess(caller),
  requiresSetup: user.requiresSetup,
});

const toMembershipDto = (membership: UserMembership, caller: UserCaller): MembershipDto => ({
  partnerId: membership.partnerId,
  partnerName: membership.partnerName,
  orgId: membership.orgId,
  orgName: membership.orgName,
  roleId: membership.roleId,
  roleName: membership.roleName,
  scope: membership.scope,
  current: sameMembership(membership, caller),
});

const toPendingMembershipDto = (invitation: PendingMembership): PendingMembershipDto => ({
  partnerId: invitation.partnerId,
  partnerName: invitation.partnerName,
  orgId: invitation.orgId,
  orgName: invitation.orgName,
  roleId: invitation.roleId,
  roleName: invitation.roleName,
  scope: invitation.scope,
  createdAt: invitation.createdAt.toISOString(),
  expiresAt: invitation.expiresAt.toISOString(),
});

const toIso = (date: Date | null): string | null => date?.toISOString() ?? null;
