import { Injectable } from '@nestjs/common';
import {
  OrganizationAccessDenied,
  OrganizationDirectory,
  PartnerAccessDenied,
  toActingCaller,
  type UserCaller,
} from '@rmm/access';
import { PROVISIONING_DEVICE_GROUPS_EXISTING, PROVISIONING_SITES_EXISTING } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { ValidationError } from '@rmm/service-kit';
import { PartnersRepository } from '../partners/partners.repository.js';
import { ContextRequired } from './member.errors.js';
import type { NewMembership } from './members.repository.js';
import type { MembershipKey, OrgAccess } from './membership.types.js';
import { assertWithinSites } from './site-restriction.js';

/** The owner of members: a partner, or one organization. */
export type MemberScope =
  { kind: 'partner'; partnerId: string } | { kind: 'organization'; partnerId: string; orgId: string };

/** Restrictions of a member to organizations, sites and device groups. */
export type MemberRestrictions = Pick<NewMembership, 'orgAccess' | 'orgIds' | 'siteIds' | 'deviceGroupIds'>;

/** Restrictions as a request names them. */
export interface RequestedRestrictions {
  orgAccess?: OrgAccess;
  orgIds?: string[];
  /** Null is no restriction. */
  siteIds?: string[] | null;
  deviceGroupIds?: string[] | null;
}

/** Returns the tenant columns of rows about members of a scope. */
export const tenantOf = (scope: MemberScope): { partnerId: string; orgId: string | null } => ({
  partnerId: scope.partnerId,
  orgId: scope.kind === 'organization' ? scope.orgId : null,
});

/** Returns the membership of such a member. */
export const membershipKeyOf = (scope: MemberScope): MembershipKey => ({ scope: scope.kind, ...tenantOf(scope) });

/** Resolves whose members a caller manages, and checks what it may restrict them to. @see docs/reference/users-and-roles.md */
@Injectable()
export class MemberScopeService {
  constructor(
    private readonly directory: OrganizationDirectory,
    private readonly partners: PartnersRepository,
    private readonly rpc: RpcClient,
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

  /**
   * Returns the restrictions of a membership. Fields of the other kind of membership are refused, not ignored.
   * @param current  of an existing membership, whose fields apply where the request names none
   * @throws ValidationError; SiteAccessDenied; OrganizationAccessDenied; UnavailableError without provisioning
   */
  checkRestrictions(
    caller: UserCaller,
    scope: MemberScope,
    dto: RequestedRestrictions,
    current?: MemberRestrictions,
  ): Promise<MemberRestrictions> {
    return scope.kind === 'organization'
      ? this.checkOrganizationMember(caller, scope.orgId, dto, current)
      : this.checkPartnerMember(caller, scope.partnerId, dto, current);
  }

  private async checkOrganizationMember(
    caller: UserCaller,
    orgId: string,
    { orgAccess, orgIds, ...dto }: RequestedRestrictions,
    current?: MemberRestrictions,
  ): Promise<MemberRestrictions> {
    if (orgAccess !== undefined) throw ValidationError.forField('orgAccess', 'is not for organization members');
    if (orgIds !== undefined) throw ValidationError.forField('orgIds', 'is not for organization members');
    const { siteIds = current?.siteIds ?? null, deviceGroupIds = current?.deviceGroupIds ?? null } = dto;
    assertWithinSites(caller, { siteIds, deviceGroupIds });
    if (dto.siteIds) await this.assertSitesExist(caller, orgId, dto.siteIds);
    if (dto.deviceGroupIds) await this.assertDeviceGroupsExist(caller, orgId, dto.deviceGroupIds);
    return { orgAccess: 'none', orgIds: [], siteIds, deviceGroupIds };
  }

  private async checkPartnerMember(
    caller: UserCaller,
    partnerId: string,
    { siteIds, deviceGroupIds, ...dto }: RequestedRestrictions,
    current?: MemberRestrictions,
  ): Promise<MemberRestrictions> {
    if (siteIds) throw ValidationError.forField('siteIds', 'is not for partner members');
    if (deviceGroupIds) throw ValidationError.forField('deviceGroupIds', 'is not for partner members');
    const { orgAccess = current?.orgAccess ?? 'all' } = dto;
    const { orgIds = orgAccess === 'selected' ? (current?.orgIds ?? []) : [] } = dto;
    if (orgAccess !== 'selected') {
      if (orgIds.length > 0) throw ValidationError.forField('orgIds', 'goes with orgAccess selected');
      return { orgAccess, orgIds: [], siteIds: null, deviceGroupIds: null };
    }
    if (orgIds.length === 0) throw ValidationError.forField('orgIds', 'is required with orgAccess selected');
    await this.directory.preload(orgIds);
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
    assertAllKnown('siteIds', siteIds, known, 'is not a site of the organization');
  }

  /** Asks provisioning. @throws ValidationError naming each group that is not of the organization; UnavailableError */
  private async assertDeviceGroupsExist(caller: UserCaller, orgId: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const found = await this.rpc.call(PROVISIONING_DEVICE_GROUPS_EXISTING, {
      caller: toActingCaller(caller),
      orgId,
      deviceGroupIds: [...ids],
    });
    const known = new Set(found.deviceGroupIds);
    assertAllKnown('deviceGroupIds', ids, known, 'is not a device group of the organization');
  }
}

function assertAllKnown(field: string, ids: readonly string[], known: ReadonlySet<string>, text: string): void {
  const unknown = ids.flatMap((id, index) => (known.has(id) ? [] : [[`${field}.${index}`, [text]]]));
  if (unknown.length > 0) {
    throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(unknown) as Record<string, string[]> });
  }
}
