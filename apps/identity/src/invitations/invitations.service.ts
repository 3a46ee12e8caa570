import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { MemberScopeService, type MemberScope } from '../members/member-scope.service.js';
import { UserNotInvited } from '../members/member.errors.js';
import { assertWithinSites } from '../members/site-restriction.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { UserStatus } from '../users/user.js';
import type { InviteDeliveryDto, InvitedUserDto } from './dto/invitation.dto.js';
import type { InviteUserDto } from './dto/invite-user.dto.js';
import type { ResendInviteDto } from './dto/resend-invitation.dto.js';
import { InvitationLinkPolicy } from './invitation-link.policy.js';
import { InvitationLinksService } from './invitation-links.service.js';
import { InvitationSenderService } from './invitation-sender.service.js';
import { InvitationsRepository, type LockedInvitation } from './invitations.repository.js';

/** Invitations that administrators send. @see docs/reference/users-and-roles.md */
@Injectable()
export class InvitationsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scopes: MemberScopeService,
    private readonly grants: RoleGrantPolicy,
    private readonly invitations: InvitationsRepository,
    private readonly links: InvitationLinksService,
    private readonly linkPolicy: InvitationLinkPolicy,
    private readonly sender: InvitationSenderService,
  ) {}

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
    const { status, sent } = await this.invitations.withAccount(email, async (existing) => {
      const stored = await this.tenants.transaction(caller, async (tx) => {
        await this.grants.lockRoles(tx, scope.partnerId);
        const current = await this.grants.refreshCaller(tx, caller, 'users:invite');
        const role = await this.grants.getGrantableRole(tx, current, scope, roleId);
        const member = { email, name, roleId: role.id, invitedBy: caller.userId, ...restrictions };
        return this.sender.invite(tx, caller, existing, { ...member, scope, tenantName }, mayMail);
      });
      return { status: existing?.status ?? ('invited' as const), sent: stored };
    });
    const delivery = await this.linkPolicy.toDelivery(caller, sent);
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
    const open = await this.tenants.transaction(caller, (tx) => this.lock(tx, caller, scope, { userId, status }));
    const mayMail = await this.links.mayMail(open.email);
    const sent = await this.tenants.transaction(caller, async (tx) => {
      const invitation = await this.lock(tx, caller, scope, { userId, status });
      return this.sender.resend(tx, caller, invitation, { scope, tenantName }, { status, mayMail });
    });
    return this.linkPolicy.toDelivery(caller, sent);
  }

  /** @throws NotFoundError, UserNotInvited, PermissionNotDelegable, SiteAccessDenied */
  private async lock(
    tx: TenantTransaction,
    caller: UserCaller,
    scope: MemberScope,
    { userId, status }: { userId: string; status: UserStatus },
  ): Promise<LockedInvitation> {
    if (status === 'invited') await this.invitations.reopen(tx, scope, userId, caller.userId);
    const invitation = await this.invitations.lock(tx, scope, userId);
    if (!invitation) {
      throw (await this.invitations.isMember(tx, scope, userId)) ? new UserNotInvited() : new NotFoundError('User');
    }
    const current = await this.grants.refreshCaller(tx, caller, 'users:invite');
    await this.grants.assertHasPermissionsOf(tx, current, [invitation.roleId]);
    assertWithinSites(current, invitation);
    return invitation;
  }
}
