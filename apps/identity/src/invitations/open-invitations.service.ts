import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import type { MemberScopeQueryDto } from '../members/dto/member-scope-query.dto.js';
import { MemberScopeService, tenantOf } from '../members/member-scope.service.js';
import { assertWithinSites } from '../members/site-restriction.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { InvitationDto } from './dto/invitation.dto.js';
import type { ListInvitationsDto } from './dto/list-invitations.dto.js';
import { toInvitationDto } from './invitation.mapper.js';
import { InvitationsRepository } from './invitations.repository.js';

/** Invitations that are not accepted yet. @see docs/reference/users-and-roles.md */
@Injectable()
export class OpenInvitationsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scopes: MemberScopeService,
    private readonly grants: RoleGrantPolicy,
    private readonly invitations: InvitationsRepository,
    private readonly audit: AuditTrail,
  ) {}

  async list(caller: UserCaller, query: ListInvitationsDto): Promise<Paged<InvitationDto>> {
    const scope = await this.scopes.resolve(caller, query);
    const { total, rows } = await this.invitations.list(caller, scope, query);
    return toPage(query, { total }, rows.map(toInvitationDto));
  }

  /**
   * Withdraws an invitation; its link becomes invalid.
   * @throws NotFoundError, PermissionNotDelegable, SiteAccessDenied
   */
  async withdraw(caller: UserCaller, userId: string, named: MemberScopeQueryDto): Promise<void> {
    const scope = await this.scopes.resolve(caller, named);
    await this.tenants.transaction(caller, async (tx) => {
      const invitation = await this.invitations.lock(tx, scope, userId);
      if (!invitation) throw new NotFoundError('Invitation');
      const current = await this.grants.refreshCaller(tx, caller, 'users:invite');
      await this.grants.assertHasPermissionsOf(tx, current, [invitation.roleId]);
      assertWithinSites(current, invitation);
      await this.invitations.remove(tx, tenantOf(scope), userId);
      const resource = { type: 'user', id: userId, name: invitation.email, ...tenantOf(scope) };
      await this.audit.record(tx, caller, 'user.invite.withdrawn', resource, { roleId: invitation.roleId });
    });
  }
}
