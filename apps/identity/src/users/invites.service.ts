import { Inject, Injectable } from '@nestjs/common';
import { OrganizationDirectory, type UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { NotFoundError, RateLimits, ValidationError } from '@rmm/service-kit';
import { AccessChanges } from '../access/access-changes.js';
import { selfCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { PasswordHasher } from '../login/password-hasher.js';
import { assertStrongPassword } from '../login/password-rules.js';
import { SessionStarter, type FinishedLogin } from '../login/session-starter.js';
import { Grants } from '../roles/grants.js';
import type { AcceptInviteDto, InviteUserDto, ResendInviteDto } from './dto.js';
import type { InviteDeliveryDto, InvitedUserDto, InvitePreviewDto } from './invite.dto.js';
import { Inviter } from './inviter.js';
import { InviteAlreadyAccepted, InviteInvalid, InviteNotFound } from './invites.errors.js';
import { InvitesRepository, type InviteOffer } from './invites.repository.js';
import { UserNotInvited } from './members.errors.js';
import { MembershipsRepository } from './memberships.repository.js';
import { PeopleRepository } from './people.repository.js';
import { tenantIsActive, type LiveMembership } from './person.js';
import { assertWithin } from './reach.js';
import { SitesOfOrganization } from './sites-of-organization.js';
import { UserAxes, type UserAxis } from './user-axis.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;

/** Invitations: sent by somebody who may, accepted once by whoever holds the link. */
@Injectable()
export class InvitesService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly tenants: TenantDatabase,
    private readonly axes: UserAxes,
    private readonly grants: Grants,
    private readonly directory: OrganizationDirectory,
    private readonly inviter: Inviter,
    private readonly repository: InvitesRepository,
    private readonly memberships: MembershipsRepository,
    private readonly sites: SitesOfOrganization,
    private readonly people: PeopleRepository,
    private readonly hasher: PasswordHasher,
    private readonly starter: SessionStarter,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws InvalidRoleScope, PermissionNotDelegable, UserAlreadyExists, OrganizationAccessDenied, SiteAccessDenied, RateLimitedError */
  async invite(caller: UserCaller, dto: InviteUserDto): Promise<InvitedUserDto> {
    await this.limits.hit(this.config.limits.invite, caller.userId);
    const axis = await this.axes.of(caller, dto);
    const reach = await this.reachOf(caller, axis, dto);
    const tenantName = await this.nameOf(caller, axis);
    const { email, name } = dto;
    const { account, delivery, role } = await this.worker.transaction(async (tx) => {
      const role = await this.grants.roleFor(tx, caller, axis, dto.roleId);
      const invitation = { axis, email, name, roleId: role.id, tenantName, invitedBy: caller.userId, ...reach };
      return { role, ...(await this.inviter.invite(tx, caller, invitation)) };
    });
    return {
      id: account.id,
      email: account.email,
      name: account.name,
      status: account.status,
      roleId: role.id,
      ...delivery,
    };
  }

  /** @throws NotFoundError; UserNotInvited when there is nothing to accept any more; RateLimitedError */
  async resend(caller: UserCaller, { userId, ...named }: ResendInviteDto): Promise<InviteDeliveryDto> {
    await this.limits.hit(this.config.limits.invite, caller.userId);
    const axis = await this.axes.of(caller, named);
    const tenantName = await this.nameOf(caller, axis);
    return this.worker.transaction(async (tx) => {
      const member = await this.memberships.hold(tx, axis, userId);
      if (!member) throw new NotFoundError('User');
      if (member.status !== 'invited') throw new UserNotInvited();
      return this.inviter.resend(tx, caller, { ...member, id: userId }, { axis, tenantName });
    });
  }

  /** @throws InviteNotFound 404; InviteAlreadyAccepted 410 */
  async preview(token: string, client: string): Promise<InvitePreviewDto> {
    await this.limits.hit(this.config.limits.previewInvite, client);
    const offer = await this.findOffer(token);
    if (offer?.used) throw new InviteAlreadyAccepted();
    if (!offer || offer.expired || offer.status !== 'invited') throw new InviteNotFound();
    const { email, name, partnerName, orgName } = offer;
    return { email, name, ...(orgName ? { orgName } : partnerName && { partnerName }) };
  }

  /**
   * Makes the account active with the chosen password and signs in. Weak passwords do not use the link up.
   * @throws InviteInvalid, WeakPassword, RateLimitedError
   */
  async accept({ token, password, name }: AcceptInviteDto, client: string): Promise<FinishedLogin> {
    await this.limits.hit(this.config.limits.acceptInvite, client);
    const offer = await this.findOffer(token);
    if (!offer || offer.used || offer.expired || offer.status !== 'invited') throw new InviteInvalid();
    const memberships = (await this.people.findById(this.worker, offer.userId))?.memberships;
    await assertStrongPassword(password, { email: offer.email, name: name ?? offer.name, memberships });
    const passwordHash = await this.hasher.hash(password);
    const started = await this.worker.transaction(async (tx) => {
      const userId = await this.repository.accept(tx, hashKey(token), passwordHash, name ?? null);
      const person = userId === null ? null : await this.people.findById(tx, userId);
      const membership = person && membershipOf(person.memberships, offer);
      if (!person || !membership) throw new InviteInvalid();
      await this.access.announce(tx, { userIds: [person.id], reason: 'invite_accepted' });
      const self = { type: 'user', id: person.id, name: person.name };
      await this.audit.record(tx, selfCaller(person, membership), 'user.invite.accepted', self);
      return this.starter.start(tx, person, membership, { method: 'invite', mfa: false, passwordProven: true });
    });
    return this.starter.finish(started);
  }

  private findOffer(token: string): Promise<InviteOffer | null> {
    return LINK_TOKEN.test(token) ? this.repository.findOffer(this.worker, hashKey(token)) : Promise.resolve(null);
  }

  /** What part of the tenant the new member reaches; the fields of the other axis are refused, not ignored. */
  private async reachOf(caller: UserCaller, axis: UserAxis, dto: InviteUserDto) {
    const { orgAccess = 'all', orgIds = [], siteIds = null, deviceGroupIds = null } = dto;
    if (axis.kind === 'organization') {
      if (dto.orgAccess !== undefined) throw ValidationError.of('orgAccess', 'is not for organization members');
      if (dto.orgIds !== undefined) throw ValidationError.of('orgIds', 'is not for organization members');
      assertWithin(caller.siteIds, siteIds);
      assertWithin(caller.deviceGroupIds, deviceGroupIds);
      if (siteIds) await this.sites.assertAll(axis.orgId, siteIds);
      return { orgAccess: 'none' as const, orgIds: [], siteIds, deviceGroupIds };
    }
    if (siteIds) throw ValidationError.of('siteIds', 'is not for partner members');
    if (deviceGroupIds) throw ValidationError.of('deviceGroupIds', 'is not for partner members');
    if (orgAccess !== 'selected') {
      if (orgIds.length > 0) throw ValidationError.of('orgIds', 'goes with orgAccess selected');
      return { orgAccess, orgIds: [], siteIds: null, deviceGroupIds: null };
    }
    if (orgIds.length === 0) throw ValidationError.of('orgIds', 'is required with orgAccess selected');
    for (const orgId of orgIds) {
      const { partnerId } = await this.directory.assertOrganizationAccess(caller, orgId);
      if (partnerId !== axis.partnerId) throw ValidationError.of('orgIds', 'must be organizations of the partner');
    }
    return { orgAccess, orgIds, siteIds: null, deviceGroupIds: null };
  }

  private async nameOf(caller: UserCaller, axis: UserAxis): Promise<string> {
    if (axis.kind === 'organization') return (await this.directory.find(axis.orgId))?.name ?? '';
    const sql = 'select name from partner where id = $1';
    const [row] = await this.tenants.read<{ name: string }>(caller, sql, [axis.partnerId]);
    return row?.name ?? '';
  }
}

/** The membership the invitation was for, else the first that is alive. */
function membershipOf(memberships: LiveMembership[], offer: InviteOffer): LiveMembership | null {
  const alive = memberships.filter(tenantIsActive);
  const meant = alive.find(({ partnerId, orgId }) => partnerId === offer.partnerId && orgId === offer.orgId);
  return meant ?? alive[0] ?? null;
}
