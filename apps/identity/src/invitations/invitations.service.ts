import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, type AuditedCaller } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { UserNotInvited } from '../members/member.errors.js';
import { MemberScopeService, tenantOf } from '../members/member-scope.service.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { AccountSummary } from '../users/users.repository.js';
import type { InviteDeliveryDto, InvitedUserDto } from './dto/invitation.dto.js';
import type { InviteUserDto } from './dto/invite-user.dto.js';
import type { ResendInviteDto } from './dto/resend-invitation.dto.js';
import { UserAlreadyExists } from './invitation.errors.js';
import { InvitationDeliveryService } from './invitation-delivery.service.js';
import { InvitationsRepository, type InvitedMember } from './invitations.repository.js';
import { MemberRestrictionsService } from './member-restrictions.service.js';
import type { Transaction } from '../transaction.js';

export interface Invitation extends InvitedMember {
  /** The partner or organization, as the mail calls it. */
  tenantName: string;
}

/** Invitations that administrators send. @see docs/reference/users-and-roles.md */
@Injectable()
export class InvitationsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scopes: MemberScopeService,
    private readonly restrictions: MemberRestrictionsService,
    private readonly grants: RoleGrantPolicy,
    private readonly invitations: InvitationsRepository,
    private readonly delivery: InvitationDeliveryService,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
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
    const restrictions = await this.restrictions.check(caller, scope, dto);
    const tenantName = await this.scopes.getTenantName(caller, scope);
    const { email, name, roleId } = dto;
    return this.invitations.withAccount(email, (existing) =>
      this.tenants.transaction(caller, async (tx) => {
        const role = await this.grants.getGrantableRole(tx, caller, scope, roleId);
        const member = { scope, email, name, roleId: role.id, invitedBy: caller.userId, ...restrictions };
        const { account, delivery } = await this.inviteIn(tx, caller, existing, { ...member, tenantName });
        const { id, status } = account;
        return { id, email: account.email, name: account.name, status, roleId: role.id, ...delivery };
      }),
    );
  }

  /** Invites a member in the given transaction; `existing` is the account of the address. @throws UserAlreadyExists */
  async inviteIn(
    tx: Transaction,
    caller: AuditedCaller,
    existing: AccountSummary | null,
    { tenantName, ...member }: Invitation,
  ): Promise<{ account: AccountSummary; delivery: InviteDeliveryDto }> {
    const { scope, email, roleId } = member;
    const account = await this.invitations.addMember(tx, existing, member);
    if (!account) throw new UserAlreadyExists();
    const delivery = await this.delivery.deliver(tx, account, scope, tenantName);
    await this.accessChanges.publish(tx, { userIds: [account.id], reason: 'membership_added' });
    const resource = { type: 'user', id: account.id, name: email, ...tenantOf(scope) };
    await this.audit.record(tx, caller, 'user.invite', resource, { roleId, inviteEmailSent: delivery.inviteEmailSent });
    return { account, delivery };
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
      const delivery = await this.delivery.deliver(tx, account, scope, tenantName);
      const resource = { type: 'user', id: userId, name: account.email, ...tenantOf(scope) };
      const details = { inviteEmailSent: delivery.inviteEmailSent };
      await this.audit.record(tx, caller, 'user.invite.resend', resource, details);
      return delivery;
    });
  }
}
