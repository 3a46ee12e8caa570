import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import type { Permission } from '@rmm/permissions';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import type { AssignRoleDto } from './dto/assign-role.dto.js';
import type { MemberScopeQueryDto } from './dto/member-scope-query.dto.js';
import type { UpdateMembershipDto } from './dto/update-membership.dto.js';
import { LastAdminPolicy } from './last-admin.policy.js';
import { membershipKeyOf, MemberScopeService, tenantOf, type MemberScope } from './member-scope.service.js';
import { SelfActionRefused } from './member.errors.js';
import { isAdminRole, MembersRepository, type LockedMember } from './members.repository.js';
import { assertWithinSites } from './site-restriction.js';

interface MemberChange {
  caller: UserCaller;
  scope: MemberScope;
  userId: string;
  /** The permission that the route requires. */
  needs: Permission;
}

/** Changes that administrators make to members. @see docs/reference/users-and-roles.md */
@Injectable()
export class MemberChangesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scopes: MemberScopeService,
    private readonly members: MembersRepository,
    private readonly grants: RoleGrantPolicy,
    private readonly lastAdmin: LastAdminPolicy,
    private readonly sessions: SessionRevocationsService,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
  ) {}

  /** @throws SelfActionRefused, NotFoundError, InvalidRoleScope, PermissionNotDelegable, SiteAccessDenied, LastAdmin */
  async assignRole(caller: UserCaller, userId: string, { roleId, ...named }: AssignRoleDto): Promise<void> {
    if (userId === caller.userId) throw new SelfActionRefused();
    const scope = await this.scopes.resolve(caller, named);
    await this.tenants.transaction(caller, async (tx) => {
      await this.grants.lockRoles(tx, scope.partnerId);
      const { member, current } = await this.lockMember(tx, { caller, scope, userId, needs: 'users:write' });
      const role = await this.grants.getGrantableRole(tx, current, scope, roleId);
      if (!isAdminRole(role)) await this.lastAdmin.assertAnother(tx, scope, userId, member);
      await this.members.setRole(tx, scope, userId, role.id);
      await this.accessChanges.publish(tx, { userIds: [userId], reason: 'role_assigned' });
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.role.assign', resource, { from: member.roleId, to: role.id });
    });
  }

  /**
   * Changes the organizations, or the sites and device groups, that a member is restricted to; effective at once.
   * @returns the scope of the member
   * @throws SelfActionRefused, NotFoundError, ValidationError, PermissionNotDelegable, SiteAccessDenied, LastAdmin
   */
  async updateAccess(
    caller: UserCaller,
    userId: string,
    { orgId, partnerId, ...dto }: UpdateMembershipDto,
  ): Promise<MemberScope> {
    if (Object.values(dto).every((value) => value === undefined)) {
      throw ValidationError.forField('body', 'names no field to change');
    }
    if (userId === caller.userId) throw new SelfActionRefused();
    const scope = await this.scopes.resolve(caller, { orgId, partnerId });
    // Provisioning is asked outside of the transaction that stores the change.
    const change = { caller, scope, userId, needs: 'users:write' } as const;
    const stored = await this.tenants.transaction(caller, (tx) => this.lockMember(tx, change));
    const { orgAccess, orgIds, siteIds, deviceGroupIds } = stored.member;
    const restrictions = await this.scopes.checkRestrictions(caller, scope, dto, {
      orgAccess: orgAccess ?? 'none',
      orgIds: orgIds ?? [],
      siteIds,
      deviceGroupIds,
    });
    await this.tenants.transaction(caller, async (tx) => {
      await this.grants.lockRoles(tx, scope.partnerId);
      const { member } = await this.lockMember(tx, change);
      if (restrictions.orgAccess !== 'all') await this.lastAdmin.assertAnother(tx, scope, userId, member);
      await this.members.setRestrictions(tx, scope, userId, restrictions);
      await this.accessChanges.publish(tx, { userIds: [userId], reason: 'access_changed' });
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.membership.update', resource, { ...dto });
    });
    return scope;
  }

  /**
   * Removes a member; the user and its other memberships remain. The sessions in this membership end in the same
   * transaction, and no others.
   * @throws SelfActionRefused, NotFoundError, PermissionNotDelegable, SiteAccessDenied, LastAdmin
   */
  async remove(caller: UserCaller, userId: string, named: MemberScopeQueryDto): Promise<void> {
    if (userId === caller.userId) throw new SelfActionRefused();
    const scope = await this.scopes.resolve(caller, named);
    await this.tenants.transaction(caller, async (tx) => {
      await this.grants.lockRoles(tx, scope.partnerId);
      const { member } = await this.lockMember(tx, { caller, scope, userId, needs: 'users:delete' });
      await this.lastAdmin.assertAnother(tx, scope, userId, member);
      // Before the membership: without it, row-level security hides the user and its sessions.
      const sessions = await this.sessions.revokeInMembership(tx, userId, membershipKeyOf(scope), 'membership_gone');
      await this.members.remove(tx, scope, userId);
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.remove', resource, { roleId: member.roleId, sessions });
    });
  }

  /**
   * Locks a membership. A caller may not change a member who has permissions or sites the caller does not have.
   * @returns the member, and the caller with the permissions it has once the lock is held
   * @throws NotFoundError, PermissionDenied, PermissionNotDelegable, SiteAccessDenied
   */
  private async lockMember(
    tx: TenantTransaction,
    { caller, scope, userId, needs }: MemberChange,
  ): Promise<{ member: LockedMember; current: UserCaller }> {
    const member = await this.members.lock(tx, scope, userId);
    const current = await this.grants.refreshCaller(tx, caller, needs);
    await this.grants.assertHasPermissionsOf(tx, current, [member.roleId]);
    assertWithinSites(current, member);
    return { member, current };
  }
}
