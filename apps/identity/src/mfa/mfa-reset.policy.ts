import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { NotFoundError } from '@rmm/service-kit';
import type { MemberScope } from '../members/member-scope.service.js';
import { MembersRepository } from '../members/members.repository.js';
import type { MembershipKey } from '../members/membership.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { Transaction } from '../transaction.js';
import type { User } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import { MfaNotEnabled, UserInOtherTenants } from './mfa.errors.js';

/**
 * Decides whose factors an administrator may reset. An account is shared by its tenants, so a user with a membership
 * outside of the caller's access is refused: one tenant must not weaken an account of another.
 */
@Injectable()
export class MfaResetPolicy {
  constructor(
    private readonly users: UsersRepository,
    private readonly members: MembersRepository,
    private readonly grants: RoleGrantPolicy,
  ) {}

  /** @throws NotFoundError when the user is no member of the scope */
  async assertIsMember(caller: UserCaller, scope: MemberScope, userId: string): Promise<void> {
    const { rows } = await this.members.list(caller, scope, { page: 1, limit: 1 }, userId);
    if (rows.length === 0) throw new NotFoundError('User');
  }

  /**
   * Keeps memberships from being added to the user until the transaction ends, and checks the user.
   * @param tx  of the worker login: all memberships of the user count, also those the caller cannot see
   * @throws UserInOtherTenants unless every membership is within the caller's access; PermissionNotDelegable when the
   *   user has permissions that the caller has not; MfaNotEnabled; NotFoundError
   */
  async lockTarget(tx: Transaction, caller: UserCaller, userId: string): Promise<User> {
    await this.users.lockMemberships(tx, userId);
    const user = await this.users.findById(tx, userId);
    if (!user) throw new NotFoundError('User');
    if (!user.memberships.every((membership) => canAccess(caller, membership))) throw new UserInOtherTenants();
    const roleIds = user.memberships.map(({ roleId }) => roleId);
    await this.grants.assertHasPermissionsOf(tx, caller, roleIds);
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    return user;
  }
}

function canAccess({ scope, partnerId, orgId }: UserCaller, membership: MembershipKey): boolean {
  if (scope === 'system') return true;
  if (membership.scope === 'system' || membership.partnerId !== partnerId) return false;
  return scope === 'partner' || (membership.scope === 'organization' && membership.orgId === orgId);
}
