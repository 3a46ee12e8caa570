import { Inject, Injectable } from '@nestjs/common';
import type { AccessSource } from '@rmm/access';
import type {
  AccessInOrganization,
  AccessInOrganizationRequest,
  AccessResolveRequest,
  AccessSnapshot,
} from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { sameMembership } from '../members/membership.js';
import { MfaGraceService } from '../mfa/mfa-grace.service.js';
import { evaluateMfa } from '../mfa/mfa-policy.js';
import { UsersRepository } from '../users/users.repository.js';
import { AccessRepository, type SessionAccess } from './access.repository.js';

/** Resolves what users may do, for identity itself and, by RPC, for the other services. */
@Injectable()
export class AccessSourceService implements AccessSource {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly access: AccessRepository,
    private readonly users: UsersRepository,
    private readonly grace: MfaGraceService,
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
      mfaGraceDue: mfa.opensGrace,
      allowedMfaMethods: mfa.allowedMethods,
      ipAllowlist: access.partnerSecurity?.ipAllowlist ?? [],
      isPlatformAdmin: access.isPlatformAdmin,
      version: Number(access.version),
    };
  }
}
