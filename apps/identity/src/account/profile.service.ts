import { Injectable } from '@nestjs/common';
import { hasFullPartnerAccess, type UserCaller } from '@rmm/access';
import { splitPermission } from '@rmm/permissions';
import { WorkerDatabase } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import { sameMembership } from '../members/membership.js';
import { UsersRepository } from '../users/users.repository.js';
import type { UserMembership, User } from '../users/user.js';
import type { AccountDto, MembershipDto, ProfileDto } from './profile.dto.js';

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;

/** What somebody reads about itself. */
@Injectable()
export class ProfileService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
  ) {}

  /** The body of GET /auth/me. */
  async account(caller: UserCaller): Promise<AccountDto> {
    const user = await this.userOf(caller);
    const [codes] = await this.worker.query<{ left: number }>(
      'select count(*)::integer as left from recovery_code where user_id = $1',
      [user.id],
    );
    return {
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
        lastLoginAt: iso(user.lastLoginAt),
        createdAt: user.createdAt.toISOString(),
        hasPassword: user.passwordHash !== null,
        recoveryCodesLeft: codes?.left ?? 0,
      },
      memberships: user.memberships.map((membership) => toMembershipDto(membership, caller)),
    };
  }

  /** The body of GET /users/me. */
  async profile(caller: UserCaller): Promise<ProfileDto> {
    const user = await this.userOf(caller);
    return {
      id: user.id,
      email: user.email,
      name: user.name,
      avatarUrl: user.avatarUrl,
      status: user.status,
      mfaEnabled: user.mfaEnabled,
      mfaMethod: user.mfaMethod,
      isPlatformAdmin: user.isPlatformAdmin,
      createdAt: user.createdAt.toISOString(),
      lastLoginAt: iso(user.lastLoginAt),
      setupCompletedAt: iso(user.setupCompletedAt),
      passwordChangedAt: iso(user.passwordChangedAt),
      preferences: user.preferences,
      partnerId: caller.partnerId,
      orgId: caller.orgId,
      scope: caller.scope,
      partnerDefaultLocale: localeOf(user.memberships.find((m) => sameMembership(m, caller))),
      permissions: [...caller.permissions].sort().map(splitPermission),
      canManagePartnerWide: caller.scope !== 'organization' && hasFullPartnerAccess(caller),
      requiresSetup: user.requiresSetup,
    };
  }

  private async userOf(caller: UserCaller): Promise<User> {
    const user = await this.users.findById(this.worker, caller.userId);
    if (!user) throw new UnauthenticatedError();
    return user;
  }
}

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

const localeOf = (membership: UserMembership | undefined): string | null => membership?.partnerLocale ?? null;
