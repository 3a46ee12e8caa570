import { Injectable } from '@nestjs/common';
import {
  AccessEntry,
  canAccessOrganization,
  InvalidAccessToken,
  OrganizationDirectory,
  PermissionDenied,
  type UserCaller,
} from '@rmm/access';
import type { ActingUser } from '@rmm/contracts';
import { hasPermission } from '@rmm/permissions';
import { NotFoundError } from '@rmm/service-kit';
import { AccessSourceService } from './access-source.service.js';
import { AccessRepository } from './access.repository.js';

const WRITE = 'organizations:write';

interface OrganizationKey {
  orgId: string;
  partnerId: string;
}

/** Resolves the users whom other services act for. */
@Injectable()
export class ActingUsersService {
  constructor(
    private readonly source: AccessSourceService,
    private readonly access: AccessRepository,
    private readonly organizations: OrganizationDirectory,
  ) {}

  /**
   * Returns the user when it may write the organization. The calling service has checked it already; a mistake there must
   * not affect another tenant.
   * @throws InvalidAccessToken; NotFoundError  for an organization of another tenant; PermissionDenied
   */
  async getOrganizationEditor(acting: ActingUser, { orgId, partnerId }: OrganizationKey): Promise<UserCaller> {
    const caller = await this.resolve(acting);
    const organization = await this.organizations.find(orgId);
    const isOwn = organization?.partnerId === partnerId && canAccessOrganization(caller, organization);
    if (!isOwn) throw new NotFoundError('Organization');
    if (!hasPermission(caller.permissions, WRITE)) throw new PermissionDenied([WRITE]);
    return caller;
  }

  /**
   * Returns the user of a session as this service knows it: scope, membership, permissions and second factor are read
   * here, so that another service cannot claim them.
   * @throws InvalidAccessToken  when the session is not one of this user in this membership, or ended
   */
  async resolve({ userId, sessionId, tenant }: ActingUser): Promise<UserCaller> {
    const { scope, partnerId, orgId } = tenant;
    const request = { userId, sessionId, scope, partnerId, orgId };
    const [session, snapshot] = await Promise.all([this.access.findLiveSession(request), this.source.resolve(request)]);
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
}
