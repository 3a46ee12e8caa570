import { Injectable } from '@nestjs/common';
import { OrganizationDirectory, toActingCaller, type UserCaller } from '@rmm/access';
import { PROVISIONING_SITES_EXISTING } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { ValidationError } from '@rmm/service-kit';
import type { MemberScope } from '../members/member-scope.service.js';
import type { NewMembership } from '../members/members.repository.js';
import { assertNotWider } from '../members/site-restriction.js';
import type { InviteUserDto } from './dto/invite-user.dto.js';

export type MemberRestrictions = Pick<NewMembership, 'orgAccess' | 'orgIds' | 'siteIds' | 'deviceGroupIds'>;

/** Checks which organizations, sites and device groups a new member is restricted to. */
@Injectable()
export class MemberRestrictionsService {
  constructor(
    private readonly directory: OrganizationDirectory,
    private readonly rpc: RpcClient,
  ) {}

  /**
   * Returns the restrictions of an invitation. Fields of the other kind of membership are refused, not ignored.
   * @throws ValidationError; SiteAccessDenied; OrganizationAccessDenied; UnavailableError without provisioning
   */
  check(caller: UserCaller, scope: MemberScope, dto: InviteUserDto): Promise<MemberRestrictions> {
    return scope.kind === 'organization'
      ? this.checkOrganizationMember(caller, scope.orgId, dto)
      : this.checkPartnerMember(caller, scope.partnerId, dto);
  }

  private async checkOrganizationMember(
    caller: UserCaller,
    orgId: string,
    { orgAccess, orgIds, ...dto }: InviteUserDto,
  ): Promise<MemberRestrictions> {
    const siteIds = dto.siteIds ?? null;
    const deviceGroupIds = dto.deviceGroupIds ?? null;
    if (orgAccess !== undefined) throw ValidationError.forField('orgAccess', 'is not for organization members');
    if (orgIds !== undefined) throw ValidationError.forField('orgIds', 'is not for organization members');
    assertNotWider(caller.siteIds, siteIds);
    assertNotWider(caller.deviceGroupIds, deviceGroupIds);
    if (siteIds) await this.assertSitesExist(caller, orgId, siteIds);
    return { orgAccess: 'none', orgIds: [], siteIds, deviceGroupIds };
  }

  private async checkPartnerMember(
    caller: UserCaller,
    partnerId: string,
    { orgAccess = 'all', orgIds = [], siteIds, deviceGroupIds }: InviteUserDto,
  ): Promise<MemberRestrictions> {
    if (siteIds) throw ValidationError.forField('siteIds', 'is not for partner members');
    if (deviceGroupIds) throw ValidationError.forField('deviceGroupIds', 'is not for partner members');
    if (orgAccess !== 'selected') {
      if (orgIds.length > 0) throw ValidationError.forField('orgIds', 'goes with orgAccess selected');
      return { orgAccess, orgIds: [], siteIds: null, deviceGroupIds: null };
    }
    if (orgIds.length === 0) throw ValidationError.forField('orgIds', 'is required with orgAccess selected');
    for (const orgId of orgIds) {
      const organization = await this.directory.assertOrganizationAccess(caller, orgId);
      if (organization.partnerId !== partnerId) {
        throw ValidationError.forField('orgIds', 'must be organizations of the partner');
      }
    }
    return { orgAccess, orgIds, siteIds: null, deviceGroupIds: null };
  }

  /** Asks provisioning. @throws ValidationError naming each site that is not of the organization; UnavailableError */
  private async assertSitesExist(caller: UserCaller, orgId: string, siteIds: readonly string[]): Promise<void> {
    if (siteIds.length === 0) return;
    const found = await this.rpc.call(PROVISIONING_SITES_EXISTING, {
      caller: toActingCaller(caller),
      orgId,
      siteIds: [...siteIds],
    });
    const known = new Set(found.siteIds);
    const foreign = siteIds.flatMap((id, i) =>
      known.has(id) ? [] : [[`siteIds.${i}`, ['is not a site of the organization']]],
    );
    if (foreign.length > 0) {
      throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(foreign) as Record<string, string[]> });
    }
  }
}
