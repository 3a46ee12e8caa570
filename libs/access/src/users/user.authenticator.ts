import { EVERYTHING, hasPermission, isPermission, type ApiKeyScope, type Permission } from '@rmm/permissions';
import { cidrsContain } from '@rmm/service-kit';
import {
  ApiKeyNotAcceptedHere,
  InvalidAccessToken,
  FullPartnerAccessRequired,
  IpCheckFailed,
  IpNotAllowed,
  MfaEnrollmentRequired,
  MfaRequired,
  PermissionDenied,
  ScopeNotAllowed,
} from '../access.errors.js';
import {
  type AccessRequest,
  type AccessResponse,
  bearerToken,
  clientAddress,
  presentedKey,
  routeOf,
} from '../callers/access-request.js';
import type { UserCaller } from '../callers/caller.js';
import { hasFullPartnerAccess } from '../callers/organization-access.js';
import type { Denials } from '../denials/denials.js';
import type { RouteConstraints } from '../route-access/route-access.decorator.js';
import type { AccessEntry } from '../snapshots/access-entry.js';
import type { AccessSnapshots } from '../snapshots/access-snapshots.js';
import type { AccessTokenClaims } from '../tokens/access-token.js';
import type { TokenVerifier } from '../tokens/token-verifier.js';
import type { TenantStatusCheck } from './tenant-status-check.js';

/** What a route asks of a user: nothing, all of some permissions, or any of some. */
export type Demand = { all: readonly Permission[] } | { any: readonly (Permission | ApiKeyScope)[] } | null;

/** A window is never opened by looking. */
const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The checks on a user token, in the order of CONTRACT.md 2.4 and 1.7. */
export class UserAuthenticator {
  constructor(
    private readonly verifier: TokenVerifier,
    private readonly snapshots: AccessSnapshots,
    private readonly tenants: TenantStatusCheck,
    private readonly denials: Denials,
  ) {}

  /**
   * Steps 1 to 4: whose token is this, and is it alive? For `@Public()` routes that serve signed-in people otherwise.
   * @throws InvalidAccessToken  401; ApiKeyNotAcceptedHere 401; UnavailableError 503
   */
  async identify(request: AccessRequest, response: AccessResponse): Promise<UserCaller> {
    const { caller } = await this.identified(request, response);
    return caller;
  }

  /** All steps. */
  async enter(
    request: AccessRequest,
    response: AccessResponse,
    demand: Demand,
    narrowing: RouteConstraints,
  ): Promise<UserCaller> {
    const { entry, caller } = await this.identified(request, response);
    // The gates judge before the handler sees the caller; a refusal is audited under its name.
    request.caller = caller;
    if (!narrowing.skipTenantStatus) await this.tenants.check(entry.snapshot);
    this.checkAddress(request, entry, caller);
    if (!narrowing.skipMfaEnrollment) {
      checkEnrollment(entry);
      if (entry.snapshot.mfaGraceDue && !READING.has(request.method ?? '')) await this.openGrace(entry);
    }
    checkConstraints(caller, demand, narrowing);
    return caller;
  }

  private async identified(request: AccessRequest, response: AccessResponse) {
    const token = bearerToken(request);
    if (token === null) throw presentedKey(request) === null ? new InvalidAccessToken() : new ApiKeyNotAcceptedHere();
    const claims = await this.verifier.verify(request, response, token);
    const entry = await this.snapshots.get({
      userId: claims.sub,
      sessionId: claims.sid,
      scope: claims.scope,
      partnerId: claims.partnerId,
      orgId: claims.orgId,
    });
    if (entry === null || !isAlive(entry, claims)) throw new InvalidAccessToken();
    return { entry, caller: entry.caller(claims.mfa) };
  }

  /** One call to identity in a person's life. Where it fails, the next mutating request makes it. */
  private async openGrace({ snapshot }: AccessEntry): Promise<void> {
    const { userId, sessionId, scope, partnerId, orgId } = snapshot;
    await this.snapshots.openMfaGrace({ userId, sessionId, scope, partnerId, orgId }).catch(() => undefined);
  }

  private checkAddress(request: AccessRequest, { snapshot, ipAllowlist }: AccessEntry, caller: UserCaller): void {
    if (snapshot.ipAllowlist.length === 0) return;
    if (ipAllowlist === null) throw new IpCheckFailed();
    const address = clientAddress(request);
    if (address !== undefined && cidrsContain(ipAllowlist, address)) return;
    if (snapshot.scope !== 'system' && !snapshot.isPlatformAdmin) throw new IpNotAllowed();
    const route = routeOf(request);
    const action = 'ip_allowlist.bypass_platform_admin';
    this.denials.record({ caller, action, code: 'platform_admin', route, result: 'success' });
  }
}

/** Steps 2 to 4 of CONTRACT.md 2.4. */
function isAlive({ snapshot }: AccessEntry, { aep, mep, iat }: AccessTokenClaims): boolean {
  if (snapshot.userStatus !== 'active' || snapshot.sessionRevoked) return false;
  if (snapshot.authEpoch !== aep || snapshot.mfaEpoch !== mep) return false;
  if (!snapshot.membershipExists) return false;
  return snapshot.passwordChangedAt === null || iat >= Math.floor(snapshot.passwordChangedAt);
}

/** Step 7. */
function checkEnrollment({ snapshot }: AccessEntry): void {
  if (snapshot.mfaEnrollmentRequired && !snapshot.hasFactor)
    throw new MfaEnrollmentRequired(snapshot.allowedMfaMethods);
}

/** Scope, permission, partner-wide access, factor: all known by now, so they come before any look-up. */
function checkConstraints(
  caller: UserCaller,
  demand: Demand,
  { scopes, fullPartnerAccess, mfa }: RouteConstraints,
): void {
  if (scopes && !scopes.includes(caller.scope)) throw new ScopeNotAllowed();
  if (demand && !meets(caller, demand)) throw new PermissionDenied('all' in demand ? demand.all : demand.any);
  if (fullPartnerAccess && !hasFullPartnerAccess(caller)) throw new FullPartnerAccessRequired();
  if (mfa && !caller.mfa) throw new MfaRequired();
}

function meets({ permissions }: UserCaller, demand: NonNullable<Demand>): boolean {
  const held = (name: Permission | ApiKeyScope) =>
    isPermission(name) ? hasPermission(permissions, name) : permissions.has(EVERYTHING);
  return 'all' in demand ? demand.all.every(held) : demand.any.some(held);
}
