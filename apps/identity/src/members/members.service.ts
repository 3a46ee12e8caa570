import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { AccessChangesService } from '../access/access-changes.service.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import type { AssignRoleDto } from './dto/assign-role.dto.js';
import type { ListUsersDto } from './dto/list-members.dto.js';
import type { MemberScopeQueryDto } from './dto/member-scope-query.dto.js';
import type { UserDto } from './dto/member.dto.js';
import { MemberScopeService, tenantOf, type MemberScope } from './member-scope.service.js';
import { LastAdmin, SelfActionRefused } from './member.errors.js';
import { toUserDto } from './member.mapper.js';
import { isAdminRole, MembersRepository, type LockedMember } from './members.repository.js';
import { assertNotWider } from './site-restriction.js';

/** Members of a partner or an organization. @see docs/reference/users-and-roles.md */
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

  async list(caller: UserCaller, query: ListUsersDto): Promise<Paged<UserDto>> {
    const scope = await this.scopes.resolve(caller, query);
    const page = await this.members.list(caller, scope, query);
    const users = page.rows.map((row) => toUserDto(row, page, scope, this.config.mfa));
    return toPage(query, page, users);
  }

  /** @throws NotFoundError also for a user of another tenant */
  async get(caller: UserCaller, userId: string, query: MemberScopeQueryDto): Promise<UserDto> {
    const scope = await this.scopes.resolve(caller, query);
    const page = await this.members.list(caller, scope, { page: 1, limit: 1 }, userId);
    const [row] = page.rows;
    if (!row) throw new NotFoundError('User');
    return toUserDto(row, page, scope, this.config.mfa);
  }

  /** @throws SelfActionRefused, NotFoundError, InvalidRoleScope, PermissionNotDelegable, SiteAccessDenied, LastAdmin */
  async assignRole(caller: UserCaller, userId: string, { roleId, ...named }: AssignRoleDto): Promise<void> {
    if (userId === caller.userId) throw new SelfActionRefused();
    const scope = await this.scopes.resolve(caller, named);
    await this.tenants.transaction(caller, async (tx) => {
      const role = await this.grants.getGrantableRole(tx, caller, scope, roleId);
      const member = await this.lockMember(tx, caller, scope, userId);
      if (!isAdminRole(role)) await this.assertNotLastAdmin(tx, scope, userId, member);
      await this.members.setRole(tx, scope, userId, role.id);
      await this.accessChanges.publish(tx, { userIds: [userId], reason: 'role_assigned' });
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.role.assign', resource, { from: member.roleId, to: role.id });
    });
  }

  /**
   * Removes a member; the user and its other memberships remain. Its sessions end in the same transaction.
   * @throws SelfActionRefused, NotFoundError, PermissionNotDelegable, SiteAccessDenied, LastAdmin
   */
  async remove(caller: UserCaller, userId: string, named: MemberScopeQueryDto): Promise<void> {
    if (userId === caller.userId) throw new SelfActionRefused();
    const scope = await this.scopes.resolve(caller, named);
    await this.tenants.transaction(caller, async (tx) => {
      await this.grants.lockRoles(tx, scope.partnerId);
      const member = await this.lockMember(tx, caller, scope, userId);
      await this.assertNotLastAdmin(tx, scope, userId, member);
      // Before the membership: without it, row-level security hides the user and its sessions.
      const sessions = await this.sessions.revokeAllAndIncrementEpoch(tx, userId, 'membership_gone');
      await this.members.remove(tx, scope, userId);
      const resource = { type: 'user', id: userId, name: member.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.remove', resource, { roleId: member.roleId, sessions });
    });
  }

  /**
   * Locks a membership. A caller may not change a member who has permissions or sites the caller does not have.
   * @throws NotFoundError, PermissionNotDelegable, SiteAccessDenied
   */
  private async lockMember(
    tx: TenantTransaction,
    caller: UserCaller,
    scope: MemberScope,
    userId: string,
  ): Promise<LockedMember> {
    const member = await this.members.lock(tx, scope, userId);
    await this.grants.assertHasPermissionsOf(tx, caller, [member.roleId]);
    assertNotWider(caller.siteIds, member.siteIds);
    assertNotWider(caller.deviceGroupIds, member.deviceGroupIds);
    return member;
  }

  /** @throws LastAdmin when the member is the partner's last active administrator */
  private async assertNotLastAdmin(
    tx: TenantTransaction,
    scope: MemberScope,
    userId: string,
    member: LockedMember,
  ): Promise<void> {
    if (scope.kind !== 'partner' || !isAdminRole(member)) return;
    if (!(await this.members.hasAnotherAdmin(tx, scope.partnerId, userId))) throw new LastAdmin();
  }
}
