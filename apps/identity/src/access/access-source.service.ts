import { Inject, Injectable } from '@nestjs/common';
import {
  AccessEntry,
  canAccessOrganization,
  hasFullPartnerAccess,
  InvalidAccessToken,
  OrganizationDirectory,
  PermissionDenied,
  type AccessSource,
  type UserCaller,
} from '@rmm/access';
import type {
  AccessInOrganization,
  AccessInOrganizationRequest,
  AccessResolveRequest,
  AccessSnapshot,
  ActingUser,
} from '@rmm/contracts';
import { hasPermission } from '@rmm/permissions';
import { WorkerDatabase } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { sameMembership } from '../members/membership.types.js';
import { MfaGraceService } from '../mfa/mfa-grace.service.js';
import { evaluateMfa } from '../mfa/mfa.policy.js';
import { UsersRepository } from '../users/users.repository.js';
import { AccessRepository, type SessionAccess } from './access.repository.js';

const WRITE = 'organizations:write';

interface OrganizationKey {
  orgId: string;
  partnerId: string;
}

/** Resolves what users may do, for identity itself and, by RPC, for the other services. */
@Injectable()
export class AccessSourceService implements AccessSource {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly access: AccessRepository,
    private readonly users: UsersRepository,
    private readonly grace: MfaGraceService,
    private readonly organizations: OrganizationDirectory,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @returns null for an unknown user */
  async resolve(request: AccessResolveRequest): Promise<AccessSnapshot | null> {
    if (request.opensMfaGrace) await this.openGrace(request);
    const access = await this.access.findSessionAccess(request);
    return access && this.toSnapshot(request, access);
  }

  /**
   * Resolves what a user may do in an organization, signed in or not, for the API keys the user created.
   * @returns null for an unknown user
   */
  async resolveInOrganization(request: AccessInOrganizationRequest): Promise<AccessInOrganization | null> {
    const rows = await this.access.listOrganizationGrants(request);
    const [user] = rows;
    if (!user) return null;
    const grants = rows
      .filter(({ roleId }) => roleId !== null)
      .map(({ scope, permissions, siteIds, deviceGroupIds }) => ({ scope, permissions, siteIds, deviceGroupIds }));
    const { email, name, status } = user;
    return { userId: request.userId, email, name, active: status === 'active', grants };
  }

  /**
   * Returns the user when it may write the organization, or create it if it is new. The calling service has checked it already; a mistake there must
   * not affect another tenant.
   * @throws InvalidAccessToken; NotFoundError  for an organization of another tenant; PermissionDenied
   */
  async getOrganizationEditor(
    acting: ActingUser,
    { orgId, partnerId, isNew = false }: OrganizationKey & { isNew?: boolean },
  ): Promise<UserCaller> {
    const caller = await this.getActingUser(acting);
    const stored = await this.organizations.find(orgId);
    const organization = stored ?? (isNew ? { orgId, partnerId } : null);
    const isOwn = organization?.partnerId === partnerId && canAccessOrganization(caller, organization);
    const mayCreate = !isNew || (caller.tenant.scope !== 'organization' && hasFullPartnerAccess(caller));
    if (!isOwn || !mayCreate) throw new NotFoundError('Organization');
    if (!hasPermission(caller.permissions, WRITE)) throw new PermissionDenied([WRITE]);
    return caller;
  }

  /**
   * Returns the user of a session as this service knows it: scope, membership, permissions and second factor are read
   * here, so that another service cannot claim them.
   * @throws InvalidAccessToken  when the session is not one of this user in this membership, or ended
   */
  private async getActingUser({ userId, sessionId, tenant }: ActingUser): Promise<UserCaller> {
    const { scope, partnerId, orgId } = tenant;
    const request = { userId, sessionId, scope, partnerId, orgId };
    const [session, snapshot] = await Promise.all([this.access.findLiveSession(request), this.resolve(request)]);
    const isValid =
      snapshot !== null &&
      session !== null &&
      snapshot.userStatus === 'active' &&
      !snapshot.sessionRevoked &&
      snapshot.membershipExists &&
      (snapshot.partnerStatus === null || snapshot.partnerStatus === 'active') &&
      session.authEpoch === snapshot.authEpoch &&
      session.mfaEpoch === snapshot.mfaEpoch;
    if (!isValid) throw new InvalidAccessToken();
    return new AccessEntry(snapshot).caller(session.mfa);
  }

  private async openGrace(request: AccessResolveRequest): Promise<void> {
    const user = await this.users.findById(this.worker, request.userId);
    const membership = user?.memberships.find((candidate) => sameMembership(candidate, request));
    if (user && membership) await this.worker.transaction((tx) => this.grace.openIfDue(tx, user, membership));
  }

  private toSnapshot(
    { userId, sessionId, scope, partnerId, orgId }: AccessResolveRequest,
    access: SessionAccess,
  ): AccessSnapshot {
    const mfa = evaluateMfa({ ...access, scope }, this.config.mfa);
    return {
      userId,
      email: access.email,
      sessionId,
      userStatus: access.status,
      sessionRevoked: !access.sessionActive,
      authEpoch: access.authEpoch,
      mfaEpoch: access.mfaEpoch,
      passwordChangedAt: access.passwordChangedAt,
      membershipExists: access.membershipExists,
      scope,
      partnerId,
      partnerStatus: access.partnerStatus,
      orgId,
      roleId: access.roleId,
      orgAccess: access.orgAccess,
      orgIds: access.orgIds,
      siteIds: access.siteIds,
      deviceGroupIds: access.deviceGroupIds,
      permissions: access.permissions,
      hasFactor: access.hasFactor,
      mfaEnrollmentRequired: mfa.enrollmentRequired,
      mfaDeadline: mfa.deadline?.getTime() ?? null,
      mfaGraceDue: mfa.opensGrace,
      allowedMfaMethods: mfa.allowedMethods,
      ipAllowlist: access.partnerSecurity?.ipAllowlist ?? [],
      isPlatformAdmin: access.isPlatformAdmin,
      version: Number(access.version),
    };
  }
}
