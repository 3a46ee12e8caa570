import { Injectable } from '@nestjs/common';
import { AccessSnapshots, InvalidAccessToken, PermissionDenied, type UserCaller } from '@rmm/access';
import { hasPermission, type Permission } from '@rmm/permissions';

/** Checks a caller's access again during long-running requests such as exports. */
@Injectable()
export class CallerRevalidator {
  constructor(private readonly snapshots: AccessSnapshots) {}

  /**
   * Returns the caller with its current access.
   * @throws InvalidAccessToken when its session or membership has ended; PermissionDenied; UnavailableError
   */
  async revalidate(caller: UserCaller, permission: Permission): Promise<UserCaller> {
    const { userId, sessionId, scope, partnerId, orgId, mfa } = caller;
    const entry = await this.snapshots.get({ userId, sessionId, scope, partnerId, orgId });
    if (!entry || entry.snapshot.userStatus !== 'active') throw new InvalidAccessToken();
    if (entry.snapshot.sessionRevoked || !entry.snapshot.membershipExists) throw new InvalidAccessToken();
    if (!hasPermission(entry.permissions, permission)) throw new PermissionDenied([permission]);
    return entry.caller(mfa);
  }
}
