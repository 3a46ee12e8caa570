import { Injectable } from '@nestjs/common';
import { OrganizationAccessDenied, OrganizationDirectory, PartnerAccessDenied, type UserCaller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { ForbiddenError } from '@rmm/service-kit';

export class ContextRequired extends ForbiddenError {
  override code = 'context_required';
  override error = 'Partner or organization context required';
}

/** Whose members a call is about: a partner's own, or one organization's. */
export type MemberScope =
  { kind: 'partner'; partnerId: string } | { kind: 'organization'; partnerId: string; orgId: string };

/** Works out whose members a caller manages. @see CONTRACT.md 4.5, "caller's axis" */
@Injectable()
export class MemberScopeService {
  constructor(
    private readonly directory: OrganizationDirectory,
    private readonly tenants: TenantDatabase,
  ) {}

  /**
   * @throws ContextRequired for a system caller that names neither; OrganizationAccessDenied for a foreign organization;
   *   PartnerAccessDenied for a partner that does not exist
   */
  async of(caller: UserCaller, named: { orgId?: string; partnerId?: string }): Promise<MemberScope> {
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
    if (partnerId !== caller.partnerId) await this.assertPartner(caller, partnerId);
    return { kind: 'partner', partnerId };
  }

  private async assertPartner(caller: UserCaller, partnerId: string): Promise<void> {
    const known = await this.tenants.read(caller, 'select 1 from partner where id = $1', [partnerId]);
    if (known.length === 0) throw new PartnerAccessDenied();
  }
}
