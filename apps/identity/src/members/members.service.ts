import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import type { Permission } from '@rmm/permissions';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch, NotFoundError, ValidationError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { AccessChangesService } from '../access/access-changes.service.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import type { AssignRoleDto } from './dto/assign-role.dto.js';
import type { ListUsersDto } from './dto/list-members.dto.js';
import type { MemberScopeQueryDto } from './dto/member-scope-query.dto.js';
import type { UserDto } from './dto/member.dto.js';
import type { UpdateMembershipDto } from './dto/update-membership.dto.js';
import { assertAnotherAdmin } from './last-admin.policy.js';
import { membershipKeyOf, MemberScopeService, tenantOf, type MemberScope } from './member-scope.service.js';
import { ManagedByScim, SelfActionRefused } from './member.errors.js';
import { toMembershipFields, toUserDto } from './member.mapper.js';
import { isAdminRole, MembersRepository, type LockedMember } from './members.repository.js';
import { assertWithinSites } from './site-restriction.js';

interface MemberChange {
  caller: UserCaller;
  scope: MemberScope;
  userId: string;
  /** The permission that the route requires. */
  needs: Permission;
}

/** Members of a partner or an organization: lists them, and changes them for administrators. @see docs/reference/users-and-roles.md */
@Injectable()
export class MembersService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scopes: MemberScopeService,
    private readonly members: MembersRepository,
    private readonly grants: RoleGrantPolicy,
    private readonly sessions: SessionRevocationsService,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Lists accepted members; callers restricted to sites see those restricted to no more. */
  async list(caller: UserCaller, query: ListUsersDto): Promise<Paged<UserDto>> {
    const scope = await this.scopes.resolve(caller, query);
    const page = await this.members.list(caller, scope, query);
    const users = page.rows.map((row) => toUserDto(row, page, scope, this.config.mfa));
    return toPage(query, page, users);
  }

  /** @throws NotFoundError also for a user of another tenant; SiteAccessDenied */
  async get(caller: UserCaller, userId: string, named: MemberScopeQueryDto): Promise<UserDto> {
    return this.getIn(caller, await this.scopes.resolve(caller, named), userId);
  }

  /** @throws SelfActionRefused, NotFoundError, InvalidRoleScope, PermissionNotDelegable, SiteAccessDenied, LastAdmin, ManagedByScim */
  async assignRole(caller: UserCaller, userId: string, { roleId, ...named }: AssignRoleDto): Promise<void> {
    if (userId === caller.userId) throw new SelfActionRefused();
    const scope = await this.scopes.resolve(caller, named);
    await this.tenants.transaction(caller, async (tx) => {
      await this.grants.lockRoles(tx, scope.partnerId);
      const { member, current } = await this.lockMember(tx, { caller, scope, userId, needs: 'users:write' });
      if (member.managedByScim) throw new ManagedByScim();
      const role = await this.grants.getGrantableRole(tx, current, scope, roleId);
      if (!isAdminRole(role)) await assertAnotherAdmin(tx, this.members, { scope, userId, member });
      await this.members.setRole(tx, scope, userId, role.id);
      await this.accessChanges.publish(tx, { userIds: [userId], reason: 'role_assigned' });
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.role.assign', resource, { from: member.roleId, to: role.id });
    });
  }

  /**
   * Changes the organizations, or the sites and device groups, that a member is restricted to; effective at once.
   * @throws SelfActionRefused, NotFoundError, ValidationError, PermissionNotDelegable, SiteAccessDenied, LastAdmin
   */
  async updateAccess(
    caller: UserCaller,
    userId: string,
    { orgId, partnerId, ...dto }: UpdateMembershipDto,
  ): Promise<UserDto> {
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
      if (restrictions.orgAccess !== 'all') await assertAnotherAdmin(tx, this.members, { scope, userId, member });
      await this.members.setRestrictions(tx, scope, userId, restrictions);
      await this.accessChanges.publish(tx, { userIds: [userId], reason: 'access_changed' });
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.membership.update', resource, { ...dto });
    });
    return this.getIn(caller, scope, userId);
  }

  /**
   * Removes a member; the user and its other memberships remain. The sessions in this membership end in the same
   * transaction, and no others.
   * @throws SelfActionRefused, NotFoundError, PermissionNotDelegable, SiteAccessDenied, LastAdmin, ManagedByScim
   */
  async remove(caller: UserCaller, userId: string, named: MemberScopeQueryDto): Promise<void> {
    if (userId === caller.userId) throw new SelfActionRefused();
    const scope = await this.scopes.resolve(caller, named);
    await this.tenants.transaction(caller, async (tx) => {
      await this.grants.lockRoles(tx, scope.partnerId);
      const { member } = await this.lockMember(tx, { caller, scope, userId, needs: 'users:delete' });
      if (member.managedByScim) throw new ManagedByScim();
      await assertAnotherAdmin(tx, this.members, { scope, userId, member });
      // Before the membership: without it, row-level security hides the user and its sessions.
      const sessions = await this.sessions.revokeInMembership(tx, userId, membershipKeyOf(scope), 'membership_gone');
      await this.members.remove(tx, scope, userId);
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.remove', resource, { roleId: member.roleId, sessions });
    });
  }

  /** @throws NotFoundError, SiteAccessDenied */
  private async getIn(caller: UserCaller, scope: MemberScope, userId: string): Promise<UserDto> {
    const page = await this.members.find(caller, scope, userId);
    const [row] = page.rows;
    if (!row) throw new NotFoundError('User');
    assertWithinSites(caller, row);
    return toUserDto(row, page, scope, this.config.mfa);
  }

  /**
   * Locks a membership. A caller may not change a member who has permissions or sites the caller does not have.
   * @returns the member, and the caller with the permissions it has once the lock is held
   * @throws NotFoundError, PermissionDenied, PermissionNotDelegable, SiteAccessDenied, RecordChanged
   */
  private async lockMember(
    tx: TenantTransaction,
    { caller, scope, userId, needs }: MemberChange,
  ): Promise<{ member: LockedMember; current: UserCaller }> {
    const member = await this.members.lock(tx, scope, userId);
    const current = await this.grants.refreshCaller(tx, caller, needs);
    await this.grants.assertHasPermissionsOf(tx, current, [member.roleId]);
    assertWithinSites(current, member);
    await assertIfMatch(() => toMembershipFields(userId, member, scope));
    return { member, current };
  }
}
