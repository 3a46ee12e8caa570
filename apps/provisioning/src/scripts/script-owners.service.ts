import { Injectable } from '@nestjs/common';
import {
  assertManagesSite,
  FullPartnerAccessRequired,
  hasFullPartnerAccess,
  PartnerAccessDenied,
  PartnerDirectory,
  type UserCaller,
} from '@rmm/access';
import { ValidationError } from '@rmm/service-kit';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { resolvePartnerId } from '../partners/partner-scope.policy.js';
import type { ScriptTargetDto } from './dto/create-script.dto.js';
import type { ScriptOwner } from './scripts.repository.js';

/** Serializes what adds scripts of a partner, so that names and numbers of scripts hold. */
export const scriptsLock = (partnerId: string): string => `rmm.provisioning.scripts.${partnerId}`;

/** Decides who owns a script that is created, and who may change one. */
@Injectable()
export class ScriptOwnersService {
  constructor(
    private readonly organizations: OrganizationsRepository,
    private readonly partners: PartnerDirectory,
  ) {}

  /**
   * Returns the owner of a new script.
   * @throws OrganizationAccessDenied, PartnerAccessDenied, FullPartnerAccessRequired; SiteAccessDenied  for a member
   *   restricted to sites or groups; ValidationError  without the organization or partner that the scope needs
   */
  async resolve(caller: UserCaller, target: ScriptTargetDto): Promise<ScriptOwner> {
    if (target.availability === 'partner') {
      assertMayChange(caller, null);
      if (target.orgId !== undefined) throw ValidationError.forField('orgId', 'belongs to availability org');
      const partner = await this.partners.find(resolvePartnerId(caller, target.partnerId));
      if (!partner) throw new PartnerAccessDenied();
      return { partnerId: partner.partnerId, orgId: null };
    }
    if (target.partnerId !== undefined) throw ValidationError.forField('partnerId', 'belongs to availability partner');
    const orgId = target.orgId ?? caller.tenant.orgId;
    if (orgId === null) throw ValidationError.forField('orgId', 'is required');
    assertMayChange(caller, orgId);
    const { partnerId } = await this.organizations.getAccessible(caller, orgId);
    return { partnerId, orgId };
  }
}

/**
 * Checks that the caller may change a script of this owner: one of the partner needs access to all organizations, and
 * scripts run on the devices of every site.
 * @throws FullPartnerAccessRequired, SiteAccessDenied
 */
export function assertMayChange(caller: UserCaller, orgId: string | null): void {
  const isOrganizationCaller = caller.tenant.scope === 'organization';
  if (orgId === null && (isOrganizationCaller || !hasFullPartnerAccess(caller))) throw new FullPartnerAccessRequired();
  assertManagesSite(caller, null);
}
