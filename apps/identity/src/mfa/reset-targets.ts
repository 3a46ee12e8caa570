import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { WorkerTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { MembershipKey } from '../members/membership.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import { UsersRepository } from '../users/users.repository.js';
import type { User } from '../users/user.js';
import { MfaNotEnabled, UserInOtherTenants } from './mfa.errors.js';

/** Whose factor an administrator may take: a user is global, so one tenant must not reach into another through it. */
@Injectable()
export class ResetTargets {
  constructor(
    private readonly users: UsersRepository,
    private readonly grants: RoleGrantPolicy,
  ) {}

  /**
   * Holds the account, so that no membership is added meanwhile, and judges it.
   * @throws UserInOtherTenants unless every membership is inside the caller's reach; PermissionNotDelegable when the
   *   user may do what the caller may not; MfaNotEnabled; NotFoundError
   */
  async hold(tx: WorkerTransaction, caller: UserCaller, userId: string): Promise<User> {
    await tx.query('select id from user_account where id = $1 for update', [userId]);
    const user = await this.users.findById(tx, userId);
    if (!user) throw new NotFoundError('User');
    if (!user.memberships.every((membership) => reaches(caller, membership))) throw new UserInOtherTenants();
    await this.assertNotAbove(tx, caller, user);
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    return user;
  }

  /** Otherwise a lesser administrator weakens a greater account first and takes it afterwards. */
  private async assertNotAbove(tx: WorkerTransaction, caller: UserCaller, { memberships }: User): Promise<void> {
    const roleIds = memberships.map(({ roleId }) => roleId);
    await this.grants.assertHasPermissionsOf(tx, caller, roleIds);
  }
}

function reaches({ scope, partnerId, orgId }: UserCaller, membership: MembershipKey): boolean {
  if (scope === 'system') return true;
  if (membership.scope === 'system' || membership.partnerId !== partnerId) return false;
  return scope === 'partner' || (membership.scope === 'organization' && membership.orgId === orgId);
}
