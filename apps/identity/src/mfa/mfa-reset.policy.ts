import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { MemberScope } from '../members/member-scope.service.js';
import { MembersRepository } from '../members/members.repository.js';
import { canAccessMembership } from '../members/membership-access.policy.js';
import { assertWithinSites } from '../members/site-restriction.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { User } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import { MfaNotEnabled, UserInOtherTenants } from './mfa.errors.js';

/**
 * Decides whose factors an administrator may reset. An account is shared by its tenants, so a user with a membership
 * outside of the caller's access is refused: one tenant must not weaken an account of another.
 */
@Injectable()
export class MfaResetPolicy {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly members: MembersRepository,
    private readonly grants: RoleGrantPolicy,
  ) {}

  /** @throws NotFoundError when the user is no member of the scope; SiteAccessDenied for a member with more sites */
  async assertIsMember(caller: UserCaller, scope: MemberScope, userId: string): Promise<void> {
    const { rows } = await this.members.find(caller, scope, userId);
    const [member] = rows;
    if (!member) throw new NotFoundError('User');
    assertWithinSites(caller, member);
  }

  /**
   * Checks a user and runs the reset while no membership can be added to the user. Reads under the worker login, because
   * memberships that the caller cannot see count too; `reset` runs a transaction of the caller.
   * @throws UserInOtherTenants unless every membership is within the caller's access; PermissionNotDelegable when the
   *   user has permissions that the caller has not; MfaNotEnabled; NotFoundError
   */
  async withPermittedTarget<T>(caller: UserCaller, userId: string, reset: (user: User) => Promise<T>): Promise<T> {
    return this.worker.transaction(async (tx) => {
      await this.users.lockMemberships(tx, userId);
      const user = await this.users.findById(tx, userId);
      if (!user) throw new NotFoundError('User');
      const current = await this.grants.refreshCaller(tx, caller, 'users:write');
      if (!user.memberships.every((membership) => canAccessMembership(current, membership)))
        throw new UserInOtherTenants();
      const roleIds = user.memberships.map(({ roleId }) => roleId);
      await this.grants.assertHasPermissionsOf(tx, current, roleIds);
      if (!user.mfaEnabled) throw new MfaNotEnabled();
      return reset(user);
    });
  }
}
