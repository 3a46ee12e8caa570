import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import type { MemberScopeQueryDto } from '../members/dto/member-scope-query.dto.js';
import { MemberScopeService, tenantOf, type MemberScope } from '../members/member-scope.service.js';
import { UserNotInvited } from '../members/member.errors.js';
import { assertWithinSites } from '../members/site-restriction.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { UserStatus } from '../users/user.types.js';
import type { InvitationDto, InviteDeliveryDto, InvitedUserDto } from './dto/invitation.dto.js';
import type { InviteUserDto } from './dto/invite-user.dto.js';
import type { ListInvitationsDto } from './dto/list-invitations.dto.js';
import type { ResendInviteDto } from './dto/resend-invitation.dto.js';
import { InvitationLinksService } from './invitation-links.service.js';
import { toInvitationDto } from './invitation.mapper.js';
import { InvitationsRepository, type LockedInvitation } from './invitations.repository.js';

/** Invitations that administrators send, list and withdraw. @see docs/reference/users-and-roles.md */
@Injectable()
export class InvitationsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scopes: MemberScopeService,
    private readonly grants: RoleGrantPolicy,
    private readonly invitations: InvitationsRepository,
    private readonly links: InvitationLinksService,
    private readonly audit: AuditTrail,
  ) {}

  /** Lists the invitations that are not accepted yet. */
  async list(caller: UserCaller, query: ListInvitationsDto): Promise<Paged<InvitationDto>> {
    const scope = await this.scopes.resolve(caller, query);
    const { total, rows } = await this.invitations.list(caller, scope, query);
    return toPage(query, { total }, rows.map(toInvitationDto));
  }

  /**
   * Invites a user, who becomes a member on acceptance.
   * @throws InvalidRoleScope, PermissionNotDelegable, UserAlreadyExists, OrganizationAccessDenied, SiteAccessDenied,
   *   RateLimitedError
   */
  async invite(caller: UserCaller, dto: InviteUserDto): Promise<InvitedUserDto> {
    await this.links.countInvite(caller.userId);
    const scope = await this.scopes.resolve(caller, dto);
    const restrictions = await this.scopes.checkRestrictions(caller, scope, dto);
    const tenantName = await this.scopes.getTenantName(caller, scope);
    const { email, name, roleId } = dto;
    const mayMail = await this.links.mayMail(email);
    const { status, sent } = await this.links.withAccount(email, async (existing) => {
      const stored = await this.tenants.transaction(caller, async (tx) => {
        await this.grants.lockRoles(tx, scope.partnerId);
        const current = await this.grants.refreshCaller(tx, caller, 'users:invite');
        const role = await this.grants.getGrantableRole(tx, current, scope, roleId);
        const member = { email, name, roleId: role.id, invitedBy: caller.userId, ...restrictions };
        return this.links.invite(tx, caller, existing, { ...member, scope, tenantName }, mayMail);
      });
      return { status: existing?.status ?? ('invited' as const), sent: stored };
    });
    const delivery = await this.links.toDelivery(caller, sent);
    return { id: sent.userId, email, name, status, membershipStatus: 'pending', roleId, ...delivery };
  }

  /**
   * Sends a new link to a user who has not accepted yet; the previous link becomes invalid.
   * @throws NotFoundError; UserNotInvited for a member; PermissionNotDelegable, SiteAccessDenied, RateLimitedError
   */
  async resend(caller: UserCaller, { userId, ...named }: ResendInviteDto): Promise<InviteDeliveryDto> {
    await this.links.countInvite(caller.userId);
    const scope = await this.scopes.resolve(caller, named);
    const tenantName = await this.scopes.getTenantName(caller, scope);
    const status = await this.invitations.findStatus(userId);
    if (!status) throw new NotFoundError('User');
    // The limit is in Redis, which no transaction waits for: the invitation is locked again to send it.
    const open = await this.tenants.transaction(caller, (tx) => this.reopen(tx, caller, scope, { userId, status }));
    const mayMail = await this.links.mayMail(open.email);
    const sent = await this.tenants.transaction(caller, async (tx) => {
      const invitation = await this.reopen(tx, caller, scope, { userId, status });
      return this.links.resend(tx, caller, invitation, { scope, tenantName }, { status, mayMail });
    });
    return this.links.toDelivery(caller, sent);
  }

  /**
   * Withdraws an invitation; its link becomes invalid.
   * @throws NotFoundError, PermissionNotDelegable, SiteAccessDenied
   */
  async withdraw(caller: UserCaller, userId: string, named: MemberScopeQueryDto): Promise<void> {
    const scope = await this.scopes.resolve(caller, named);
    await this.tenants.transaction(caller, async (tx) => {
      const invitation = await this.lock(tx, caller, scope, userId);
      if (!invitation) throw new NotFoundError('Invitation');
      await this.invitations.remove(tx, tenantOf(scope), userId);
      const resource = { type: 'user', id: userId, name: invitation.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.invite.withdrawn', resource, { roleId: invitation.roleId });
    });
  }

  /**
   * Locks the invitation of a user, and opens one for a member whose account was set back to `invited`.
   * @throws NotFoundError, UserNotInvited, PermissionNotDelegable, SiteAccessDenied
   */
  private async reopen(
    tx: TenantTransaction,
    caller: UserCaller,
    scope: MemberScope,
    { userId, status }: { userId: string; status: UserStatus },
  ): Promise<LockedInvitation> {
    if (status === 'invited') await this.invitations.reopen(tx, scope, userId, caller.userId);
    const invitation = await this.lock(tx, caller, scope, userId);
    if (invitation) return invitation;
    throw (await this.invitations.isMember(tx, scope, userId)) ? new UserNotInvited() : new NotFoundError('User');
  }

  /**
   * Locks an open invitation that the caller may change; null without one.
   * @throws PermissionDenied, PermissionNotDelegable, SiteAccessDenied
   */
  private async lock(
    tx: TenantTransaction,
    caller: UserCaller,
    scope: MemberScope,
    userId: string,
  ): Promise<LockedInvitation | null> {
    const invitation = await this.invitations.lock(tx, scope, userId);
    if (!invitation) return null;
    const current = await this.grants.refreshCaller(tx, caller, 'users:invite');
    await this.grants.assertHasPermissionsOf(tx, current, [invitation.roleId]);
    assertWithinSites(current, invitation);
    return invitation;
  }
}
