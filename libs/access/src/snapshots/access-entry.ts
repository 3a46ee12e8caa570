import type { AccessSnapshot } from '@rmm/contracts';
import { isPermission, type Permission } from '@rmm/permissions';
import { type Cidr, parseCidr } from '@rmm/validation';
import type { UserCaller } from '../callers/caller.js';

/** An access snapshot prepared for many requests: address ranges parsed once, with the callers it authenticates. */
export class AccessEntry {
  readonly permissions: ReadonlySet<Permission>;
  /** Null when the partner's list contains an invalid range. */
  readonly ipAllowlist: readonly Cidr[] | null;
  private readonly callers = new Map<boolean, UserCaller>();

  constructor(readonly snapshot: AccessSnapshot) {
    this.permissions = new Set(snapshot.permissions.filter(isPermission));
    const cidrs = snapshot.ipAllowlist.map(parseCidr);
    this.ipAllowlist = cidrs.every((cidr) => cidr !== null) ? cidrs : null;
  }

  /** False once the user, the session or the membership has ended. */
  get isActive(): boolean {
    const { userStatus, sessionRevoked, membershipExists } = this.snapshot;
    return userStatus === 'active' && !sessionRevoked && membershipExists;
  }

  /** @param mfa  the claim of the presented token */
  caller(mfa: boolean): UserCaller {
    let caller = this.callers.get(mfa);
    if (!caller) this.callers.set(mfa, (caller = this.createCaller(mfa)));
    return caller;
  }

  private createCaller(mfa: boolean): UserCaller {
    const { userId, email, sessionId, scope, partnerId, orgId, roleId, siteIds, deviceGroupIds } = this.snapshot;
    const orgAccess = scope === 'partner' ? this.snapshot.orgAccess : 'none';
    const orgIds = orgAccess === 'selected' ? Object.freeze([...this.snapshot.orgIds]) : [];
    return Object.freeze({
      kind: 'user',
      actor: Object.freeze({ type: 'user', id: userId, email }),
      tenant: Object.freeze({ scope, partnerId, orgId, orgAccess, orgIds, userId }),
      userId,
      email,
      sessionId,
      scope,
      partnerId,
      orgId,
      roleId,
      orgAccess,
      orgIds,
      siteIds: siteIds && Object.freeze([...siteIds]),
      deviceGroupIds: deviceGroupIds && Object.freeze([...deviceGroupIds]),
      permissions: this.permissions,
      mfa,
      hasFactor: this.snapshot.hasFactor,
    } satisfies UserCaller);
  }
}
