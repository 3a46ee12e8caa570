import { Injectable } from '@nestjs/common';
import { OrganizationAccessDenied, OrganizationDirectory, PartnerAccessDenied, type UserCaller } from '@rmm/access';
import { PartnersRepository } from '../partners/partners.repository.js';
import { ContextRequired } from './member.errors.js';

/** The owner of members: a partner, or one organization. */
export type MemberScope =
  { kind: 'partner'; partnerId: string } | { kind: 'organization'; partnerId: string; orgId: string };

/** Returns the tenant columns of rows about members of a scope. */
export const tenantOf = (scope: MemberScope): { partnerId: string; orgId: string | null } => ({
  partnerId: scope.partnerId,
  orgId: scope.kind === 'organization' ? scope.orgId : null,
});

/** Resolves whose members a caller manages. @see docs/reference/users-and-roles.md */
@Injectable()
export class MemberScopeService {
  constructor(
    private readonly directory: OrganizationDirectory,
    private readonly partners: PartnersRepository,
  ) {}

  /**
   * Returns the named organization or partner, else the caller's own tenant.
   * @throws ContextRequired for a system caller that names neither; OrganizationAccessDenied for an organization of
   *   another tenant; PartnerAccessDenied for a partner that does not exist
   */
  async resolve(caller: UserCaller, named: { orgId?: string; partnerId?: string }): Promise<MemberScope> {
    if (caller.scope === 'organization') {
      if (named.orgId !== undefined && named.orgId !== caller.orgId) throw new OrganizationAccessDenied();
      if (caller.orgId === null || caller.partnerId === null) throw new ContextRequired();
      return { kind: 'organization', orgId: caller.orgId, partnerId: caller.partnerId };
    }
    if (named.orgId !== undefined) {
      const { orgId, partnerId } = await this.directory.assertOrganizationAccess(caller, named.orgId);
      return { kind: 'organization', orgId, partnerId };
    }
    const partnerId = caller.scope === 'system' ? named.partnerId : caller.partnerId;
    if (!partnerId) throw new ContextRequired();
    const isForeign = partnerId !== caller.partnerId;
    if (isForeign && (await this.partners.findName(caller, partnerId)) === null) throw new PartnerAccessDenied();
    return { kind: 'partner', partnerId };
  }

  /** Returns the name of the partner or organization, as mails show it; empty when it is not known. */
  async getTenantName(caller: UserCaller, scope: MemberScope): Promise<string> {
    const name =
      scope.kind === 'organization'
        ? (await this.directory.find(scope.orgId))?.name
        : await this.partners.findName(caller, scope.partnerId);
    return name ?? '';
  }
}
