import { Injectable } from '@nestjs/common';
import type { WorkerTransaction } from '@rmm/persistence';
import { AccessChangesService } from '../access/access-changes.service.js';
import { membershipKeyOf } from '../members/member-scope.service.js';
import { MembersRepository } from '../members/members.repository.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { UsersRepository } from '../users/users.repository.js';
import { scopeOf } from './scim-accounts.service.js';
import { ScimRolesService, type ResolvedRole } from './scim-roles.service.js';
import type { ScimUser } from './scim-user.entity.js';
import { ScimUsersRepository, type ManagedMembership } from './scim-users.repository.js';

/** The outcome for a membership, for the audit entry. */
export type MembershipChange =
  | { membership: 'none' | 'unchanged' }
  | { membership: 'begun'; roleId: string }
  | { membership: 'changed'; from: string; to: string }
  | { membership: 'ended'; roleId: string; sessions: number };

/**
 * Brings the membership of a SCIM user in line with what SCIM says: an active user with a role is a member, any other one
 * is none. The end is that of a removed member: sessions end in the same transaction, and keys of the user with them.
 */
@Injectable()
export class ScimMembershipsService {
  constructor(
    private readonly users: UsersRepository,
    private readonly scimUsers: ScimUsersRepository,
    private readonly members: MembersRepository,
    private readonly roles: ScimRolesService,
    private readonly sessions: SessionRevocationsService,
    private readonly accessChanges: AccessChangesService,
  ) {}

  /** @param user  locked by the caller @throws ScimRoleNotGrantable */
  async apply(tx: WorkerTransaction, provider: SsoProvider, user: ScimUser): Promise<MembershipChange> {
    const resolved = user.active ? await this.roles.resolve(tx, provider, user) : null;
    await this.users.lockMemberships(tx, user.userId);
    const member = await this.scimUsers.lockMembership(tx, user.orgId, user.userId);
    if (resolved === null && member) return this.end(tx, provider, user, member);
    if (resolved === null) {
      // An invitation could begin a membership that SCIM does not know of.
      await this.members.remove(tx, scopeOf(provider), user.userId);
      return { membership: 'none' };
    }
    if (!member) return this.begin(tx, provider, user, resolved);
    const from = member.roleId;
    const to = resolved.role.id;
    if (from === to) return { membership: 'unchanged' };
    await this.roles.assertGrantable(tx, provider, resolved, from);
    await this.members.setRole(tx, scopeOf(provider), user.userId, to);
    await this.publish(tx, user, 'role_assigned');
    return { membership: 'changed', from, to };
  }

  private async begin(
    tx: WorkerTransaction,
    provider: SsoProvider,
    user: ScimUser,
    resolved: ResolvedRole,
  ): Promise<MembershipChange> {
    await this.roles.assertGrantable(tx, provider, resolved, null);
    const { siteIds, deviceGroupIds, userId } = user;
    const roleId = resolved.role.id;
    await this.members.insert(tx, {
      ...{ scope: scopeOf(provider), userId, roleId, orgAccess: 'none', orgIds: [] },
      ...{ siteIds, deviceGroupIds, invitedBy: resolved.configuredBy },
    });
    await this.publish(tx, user, 'provisioned');
    return { membership: 'begun', roleId };
  }

  private async end(
    tx: WorkerTransaction,
    provider: SsoProvider,
    user: ScimUser,
    { roleId, siteIds, deviceGroupIds }: ManagedMembership,
  ): Promise<MembershipChange> {
    const scope = scopeOf(provider);
    const key = membershipKeyOf(scope);
    const sessions = await this.sessions.revokeInMembership(tx, user.userId, key, 'membership_gone');
    await this.members.remove(tx, scope, user.userId);
    await this.scimUsers.change(tx, user.id, { siteIds, deviceGroupIds });
    return { membership: 'ended', roleId, sessions };
  }

  private publish(tx: WorkerTransaction, { userId }: ScimUser, reason: string): Promise<void> {
    return this.accessChanges.publish(tx, { userIds: [userId], reason });
  }
}
