import type { MfaConfig } from '../config.js';
import { evaluateMfa } from '../mfa/mfa.policy.js';
import type { UserAccount } from '../users/user-account.entity.js';
import type { UserDto, VOLATILE_USER_FIELDS } from './dto/member.dto.js';
import type { PlatformUserDto } from './dto/platform-user.dto.js';
import type { MemberScope } from './member-scope.service.js';
import type { LockedMember, MemberPage, MemberRow } from './members.repository.js';

type MembershipRow = Omit<LockedMember, 'systemKey'>;
type MembershipFields = Omit<UserDto, (typeof VOLATILE_USER_FIELDS)[number]>;

/** Maps a member with its MFA status, which the policies of the page's partner and organization decide. */
export function toUserDto(
  row: MemberRow,
  { now, partnerSecurity, organizationSecurity }: MemberPage,
  scope: MemberScope,
  mfa: MfaConfig,
): UserDto {
  const { status, deadline } = evaluateMfa(
    {
      scope: scope.kind,
      roleForcesMfa: row.roleForcesMfa,
      partnerSecurity,
      organizationSecurity,
      hasFactor: row.mfaEnabled,
      everHadFactor: row.everHadFactor,
      graceGrantedAt: row.graceGrantedAt,
      enrollmentDeadline: row.enrollmentDeadline,
      now,
    },
    mfa,
  );
  return {
    ...toMembershipFields(row.id, row, scope),
    lastLoginAt: row.lastLoginAt?.toISOString() ?? null,
    mfaEnabled: row.mfaEnabled,
    mfaStatus: status,
    mfaEnrollmentDeadline: deadline?.toISOString() ?? null,
    roleName: row.roleName,
  };
}

/** Maps the fields of a member that an administrator changes: those that `If-Match` compares. */
export const toMembershipFields = (userId: string, member: MembershipRow, scope: MemberScope): MembershipFields => ({
  id: userId,
  email: member.email,
  name: member.name,
  status: member.status,
  roleId: member.roleId,
  ...(scope.kind === 'partner'
    ? { orgAccess: member.orgAccess, orgIds: member.orgIds }
    : {
        siteIds: member.siteIds,
        deviceGroupIds: member.deviceGroupIds,
        managedBy: member.managedByScim ? 'scim' : null,
      }),
});

export const toPlatformUserDto = (account: UserAccount): PlatformUserDto => ({
  id: account.id,
  email: account.email,
  name: account.name,
  status: account.status,
  disabledReason: account.disabledReason,
  isPlatformAdmin: account.isPlatformAdmin,
  mfaEnabled: account.mfaEnabled,
  lastLoginAt: account.lastLoginAt?.toISOString() ?? null,
  createdAt: account.createdAt.toISOString(),
  updatedAt: account.updatedAt.toISOString(),
});
