import { Injectable } from '@nestjs/common';
import { hasFullPartnerAccess, type UserCaller } from '@rmm/access';
import { splitPermission } from '@rmm/permissions';
import { WorkerDatabase } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import { sameMembership } from '../memberships/membership.js';
import { PeopleRepository } from '../users/people.repository.js';
import type { LiveMembership, Person } from '../users/person.js';
import type { AccountDto, MembershipDto, ProfileDto } from './profile.dto.js';

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;

/** What somebody reads about itself. */
@Injectable()
export class ProfileService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly people: PeopleRepository,
  ) {}

  /** The body of GET /auth/me. */
  async account(caller: UserCaller): Promise<AccountDto> {
    const person = await this.personOf(caller);
    const [codes] = await this.worker.query<{ left: number }>(
      'select count(*)::integer as left from recovery_code where user_id = $1',
      [person.id],
    );
    return {
      user: {
        id: person.id,
        email: person.email,
        name: person.name,
        avatarUrl: person.avatarUrl,
        mfaEnabled: person.mfaEnabled,
        mfaMethod: person.mfaMethod,
        phoneVerified: person.phoneVerified,
        phoneLast4: person.phoneNumber?.slice(-4) ?? null,
        status: person.status,
        lastLoginAt: iso(person.lastLoginAt),
        createdAt: person.createdAt.toISOString(),
        hasPassword: person.passwordHash !== null,
        recoveryCodesLeft: codes?.left ?? 0,
      },
      memberships: person.memberships.map((membership) => toMembershipDto(membership, caller)),
    };
  }

  /** The body of GET /users/me. */
  async profile(caller: UserCaller): Promise<ProfileDto> {
    const person = await this.personOf(caller);
    return {
      id: person.id,
      email: person.email,
      name: person.name,
      avatarUrl: person.avatarUrl,
      status: person.status,
      mfaEnabled: person.mfaEnabled,
      mfaMethod: person.mfaMethod,
      isPlatformAdmin: person.isPlatformAdmin,
      createdAt: person.createdAt.toISOString(),
      lastLoginAt: iso(person.lastLoginAt),
      setupCompletedAt: iso(person.setupCompletedAt),
      passwordChangedAt: iso(person.passwordChangedAt),
      preferences: person.preferences,
      partnerId: caller.partnerId,
      orgId: caller.orgId,
      scope: caller.scope,
      partnerDefaultLocale: localeOf(person.memberships.find((m) => sameMembership(m, caller))),
      permissions: [...caller.permissions].sort().map(splitPermission),
      canManagePartnerWide: caller.scope !== 'organization' && hasFullPartnerAccess(caller),
      requiresSetup: person.requiresSetup,
    };
  }

  private async personOf(caller: UserCaller): Promise<Person> {
    const person = await this.people.findById(this.worker, caller.userId);
    if (!person) throw new UnauthenticatedError();
    return person;
  }
}

const toMembershipDto = (membership: LiveMembership, caller: UserCaller): MembershipDto => ({
  partnerId: membership.partnerId,
  partnerName: membership.partnerName,
  orgId: membership.orgId,
  orgName: membership.orgName,
  roleId: membership.roleId,
  roleName: membership.roleName,
  scope: membership.scope,
  current: sameMembership(membership, caller),
});

const localeOf = (membership: LiveMembership | undefined): string | null => membership?.partnerLocale ?? null;
