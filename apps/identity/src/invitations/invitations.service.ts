import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MemberScopeService } from '../members/member-scope.service.js';
import { UserNotInvited } from '../members/member.errors.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { InviteDeliveryDto, InvitedUserDto } from './dto/invitation.dto.js';
import type { InviteUserDto } from './dto/invite-user.dto.js';
import type { ResendInviteDto } from './dto/resend-invitation.dto.js';
import { InvitationSenderService } from './invitation-sender.service.js';
import { InvitationsRepository } from './invitations.repository.js';

/** Invitations that administrators send. @see docs/reference/users-and-roles.md */
@Injectable()
export class InvitationsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scopes: MemberScopeService,
    private readonly grants: RoleGrantPolicy,
    private readonly invitations: InvitationsRepository,
    private readonly sender: InvitationSenderService,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * @throws InvalidRoleScope, PermissionNotDelegable, UserAlreadyExists, OrganizationAccessDenied, SiteAccessDenied,
   *   RateLimitedError
   */
  async invite(caller: UserCaller, dto: InviteUserDto): Promise<InvitedUserDto> {
    await this.limits.hit(this.config.limits.invite, caller.userId);
    const scope = await this.scopes.resolve(caller, dto);
    const restrictions = await this.scopes.checkRestrictions(caller, scope, dto);
    const tenantName = await this.scopes.getTenantName(caller, scope);
    const { email, name, roleId } = dto;
    return this.invitations.withAccount(email, (existing) =>
      this.tenants.transaction(caller, async (tx) => {
        const role = await this.grants.getGrantableRole(tx, caller, scope, roleId);
        const member = { scope, email, name, roleId: role.id, invitedBy: caller.userId, ...restrictions };
        const { account, delivery } = await this.sender.invite(tx, caller, existing, { ...member, tenantName });
        const { id, status } = account;
        return { id, email: account.email, name: account.name, status, roleId: role.id, ...delivery };
      }),
    );
  }

  /**
   * Sends a new link to a user who has not accepted yet; the previous link becomes invalid.
   * @throws NotFoundError; UserNotInvited when nothing is left to accept; RateLimitedError
   */
  async resend(caller: UserCaller, { userId, ...named }: ResendInviteDto): Promise<InviteDeliveryDto> {
    await this.limits.hit(this.config.limits.invite, caller.userId);
    const scope = await this.scopes.resolve(caller, named);
    const tenantName = await this.scopes.getTenantName(caller, scope);
    return this.tenants.transaction(caller, async (tx) => {
      const account = await this.invitations.lockMember(tx, scope, userId);
      if (account.status !== 'invited') throw new UserNotInvited();
      return this.sender.resend(tx, caller, account, { scope, tenantName });
    });
  }
}
