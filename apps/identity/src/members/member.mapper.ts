import type { MfaConfig } from '../config.js';
import { evaluateMfa } from '../mfa/mfa-policy.js';
import type { UserAccount } from '../users/user-account.entity.js';
import type { UserDto } from './dto/member.dto.js';
import type { PlatformUserDto } from './dto/platform-user.dto.js';
import type { MemberScope } from './member-scope.service.js';
import type { MemberPage, MemberRow } from './members.repository.js';

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
    id: row.id,
    email: row.email,
    name: row.name,
    status: row.status,
    lastLoginAt: row.lastLoginAt?.toISOString() ?? null,
    mfaEnabled: row.mfaEnabled,
    mfaStatus: status,
    mfaEnrollmentDeadline: deadline?.toISOString() ?? null,
    roleId: row.roleId,
    roleName: row.roleName,
    ...(scope.kind === 'partner'
      ? { orgAccess: row.orgAccess, orgIds: row.orgIds }
      : { siteIds: row.siteIds, deviceGroupIds: row.deviceGroupIds, managedBy: row.managedByScim ? 'scim' : null }),
  };
}

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
