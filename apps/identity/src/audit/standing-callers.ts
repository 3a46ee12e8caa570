import { Injectable } from '@nestjs/common';
import { AccessSnapshots, InvalidAccessToken, PermissionDenied, type UserCaller } from '@rmm/access';
import { hasPermission, type Permission } from '@rmm/permissions';

/** Callers as they stand now, for work that lasts longer than the look at its door. */
@Injectable()
export class StandingCallers {
  constructor(private readonly snapshots: AccessSnapshots) {}

  /**
   * The same caller with the reach it has by now.
   * @throws InvalidAccessToken when its session or membership has ended; PermissionDenied; UnavailableError
   */
  async again(caller: UserCaller, permission: Permission): Promise<UserCaller> {
    const { userId, sessionId, scope, partnerId, orgId, mfa } = caller;
    const entry = await this.snapshots.get({ userId, sessionId, scope, partnerId, orgId });
    if (!entry || entry.snapshot.userStatus !== 'active') throw new InvalidAccessToken();
    if (entry.snapshot.sessionRevoked || !entry.snapshot.membershipExists) throw new InvalidAccessToken();
    if (!hasPermission(entry.permissions, permission)) throw new PermissionDenied([permission]);
    return entry.caller(mfa);
  }
}
