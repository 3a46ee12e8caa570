import { Injectable } from '@nestjs/common';
import { EVERYTHING, hasPermission, isPermission, type ApiKeyScope, type Permission } from '@rmm/permissions';
import { Clock } from '@rmm/service-kit';
import { cidrsContain } from '@rmm/validation';
import {
  ApiKeyNotAcceptedHere,
  FullPartnerAccessRequired,
  InvalidAccessToken,
  IpCheckFailed,
  IpNotAllowed,
  MfaEnrollmentRequired,
  MfaRequired,
  PermissionDenied,
  ScopeNotAllowed,
} from '../access.errors.js';
import { DenialAuditService } from '../audit/denial-audit.service.js';
import {
  type AccessRequest,
  type AccessResponse,
  bearerToken,
  clientAddress,
  presentedKey,
  routeOf,
} from '../callers/access-request.js';
import type { UserCaller } from '../callers/caller.js';
import { hasFullPartnerAccess } from '../callers/organization-access.policy.js';
import type { RouteConstraints } from '../route-access/route-access.decorator.js';
import type { AccessEntry } from '../snapshots/access-entry.js';
import { AccessSnapshots } from '../snapshots/access-snapshots.service.js';
import type { AccessTokenClaims } from '../tokens/access-token.js';
import { TokenVerifier } from '../tokens/token-verifier.service.js';
import { TenantStatusCheck } from './tenant-status-check.service.js';

/** Permissions that a route requires of a user: all of some, any of some (names of key scopes), or none. */
export type RequiredPermissions =
  { all: readonly Permission[] } | { any: readonly (Permission | ApiKeyScope)[] } | null;

/** Methods that do not open the MFA enrollment window. */
const READ_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Authenticates and authorizes requests with an access token. The checks run in this order, and the first that fails
 * decides the response: token and session, tenant status, address list, MFA enrollment, scope, permissions, full partner
 * access, MFA.
 */
@Injectable()
export class UserAuthenticator {
  constructor(
    private readonly verifier: TokenVerifier,
    private readonly snapshots: AccessSnapshots,
    private readonly tenantStatus: TenantStatusCheck,
    private readonly denials: DenialAuditService,
    private readonly clock: Clock,
  ) {}

  /**
   * Checks token and session only. For handlers of `@Public()` routes that also accept a signed-in user.
   * @throws InvalidAccessToken  401; ApiKeyNotAcceptedHere 401; UnavailableError 503
   */
  async identify(request: AccessRequest, response: AccessResponse): Promise<UserCaller> {
    const { caller } = await this.findSession(request, response);
    // Denials of the handler are audited with the caller's name.
    request.caller = caller;
    return caller;
  }

  /** Runs every check, less those that the constraints of the route skip. */
  async authenticate(
    request: AccessRequest,
    response: AccessResponse,
    required: RequiredPermissions,
    constraints: RouteConstraints,
  ): Promise<UserCaller> {
    const { entry, caller } = await this.findSession(request, response);
    // Stored before the other checks, so that a denial is audited with the caller's name.
    request.caller = caller;
    const checking = constraints.skipTenantStatus ? undefined : this.tenantStatus.assertActive(entry.snapshot);
    if (checking) await checking;
    this.assertAddressAllowed(request, entry, caller);
    if (!constraints.skipMfaEnrollment) {
      assertMfaEnrolled(entry, this.clock.nowMs());
      if (entry.snapshot.mfaGraceDue && !READ_METHODS.has(request.method ?? '')) await this.openMfaGrace(entry);
    }
    assertConstraints(caller, required, constraints);
    return caller;
  }

  private async findSession(request: AccessRequest, response: AccessResponse) {
    const token = bearerToken(request);
    if (token === null) throw presentedKey(request) === null ? new InvalidAccessToken() : new ApiKeyNotAcceptedHere();
    // Each await of a value that is known already costs as much as finding it.
    const claims = this.verifier.findVerified(token) ?? (await this.verifier.verify(request, response, token));
    const { sub: userId, sid: sessionId, scope, partnerId, orgId } = claims;
    const session = { userId, sessionId, scope, partnerId, orgId };
    const entry = this.snapshots.findCached(session) ?? (await this.snapshots.get(session));
    if (entry === null || !isSessionValid(entry, claims)) throw new InvalidAccessToken();
    return { entry, caller: entry.caller(claims.mfa) };
  }

  /** Opens the enrollment window of a user, once. When the call fails, the next mutating request repeats it. */
  private async openMfaGrace({ snapshot }: AccessEntry): Promise<void> {
    const { userId, sessionId, scope, partnerId, orgId } = snapshot;
    await this.snapshots.openMfaGrace({ userId, sessionId, scope, partnerId, orgId }).catch(() => undefined);
  }

  private assertAddressAllowed(request: AccessRequest, { snapshot, ipAllowlist }: AccessEntry, caller: UserCaller) {
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

/** Compares the token with the present state of its user, session and membership. */
function isSessionValid({ isActive, snapshot }: AccessEntry, { aep, mep, iat }: AccessTokenClaims): boolean {
  if (!isActive || snapshot.authEpoch !== aep || snapshot.mfaEpoch !== mep) return false;
  return snapshot.passwordChangedAt === null || iat >= Math.floor(snapshot.passwordChangedAt);
}

/** An enrollment window may end while the snapshot is cached. */
function assertMfaEnrolled({ snapshot }: AccessEntry, nowMs: number): void {
  const isOverdue = snapshot.mfaEnrollmentRequired || nowMs >= (snapshot.mfaDeadline ?? Infinity);
  if (isOverdue && !snapshot.hasFactor) throw new MfaEnrollmentRequired(snapshot.allowedMfaMethods);
}

/** Needs no look-up, so it runs before the handler and its look-ups. */
function assertConstraints(
  caller: UserCaller,
  required: RequiredPermissions,
  { scopes, fullPartnerAccess, mfa }: RouteConstraints,
): void {
  if (scopes && !scopes.includes(caller.scope)) throw new ScopeNotAllowed();
  if (required && !hasRequiredPermissions(caller, required)) {
    throw new PermissionDenied('all' in required ? required.all : required.any);
  }
  if (fullPartnerAccess && !hasFullPartnerAccess(caller)) throw new FullPartnerAccessRequired();
  if (mfa && !caller.mfa) throw new MfaRequired();
}

/** Scopes without a permission of the same name (`ai:read`) require `*:*`. */
function hasRequiredPermissions({ permissions }: UserCaller, required: NonNullable<RequiredPermissions>): boolean {
  const isGranted = (name: Permission | ApiKeyScope) =>
    isPermission(name) ? hasPermission(permissions, name) : permissions.has(EVERYTHING);
  return 'all' in required ? required.all.every(isGranted) : required.any.some(isGranted);
}
