import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import type { OutboxTransaction } from '@rmm/messaging';
import { WorkerDatabase, type SqlExecutor, type WorkerTransaction } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { hashKey, mintOpaqueToken } from '@rmm/secrets';
import { currentContext, UnauthenticatedError } from '@rmm/service-kit';
import { toPage, type Paged, type PageQueryDto } from '@rmm/validation';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { sameMembership } from '../members/membership.types.js';
import { MfaGraceService } from '../mfa/mfa-grace.service.js';
import { allowedMfaMethods } from '../mfa/mfa.policy.js';
import { sessionLifetimeHours, type PolicyOwners } from '../security-policy/security.policy.js';
import { SigningKeysService, type AccessTokenClaims } from '../signing-keys/signing-keys.service.js';
import { SsoEnforced } from '../sso/sso.errors.js';
import type { MfaMethod, User, UserMembership } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import type { SessionListItemDto } from './dto/session-list-item.dto.js';
import type { SessionDto } from './dto/session.dto.js';
import { newCsrfToken } from './session-cookies.service.js';
import type { SessionFamily, SessionMethod } from './session-family.entity.js';
import { SessionRevocationsService } from './session-revocations.service.js';
import { RefreshInvalid, RefreshRaced } from './session.errors.js';
import { toSessionListItem } from './session.mapper.js';
import { SessionsRepository, type PresentedToken, type SessionProofs } from './sessions.repository.js';

const TOKEN_SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** Ten minutes, in milliseconds. @see docs/reference/mfa-and-policies.md */
const FRESH_FOR_MS = 600_000;

/** The user of a caller and the membership the caller acts in. */
export interface SessionUser {
  user: User;
  membership: UserMembership;
}

/** The identity provider of a session with the version of its settings at the sign-in, and its session there. */
export interface SsoSource {
  providerId: string;
  configVersion: number;
  sid: string | null;
}

export interface SessionOptions {
  method: SessionMethod;
  /** A factor was verified in this session. */
  mfa: boolean;
  /** The method of that factor; the account's own when absent. */
  factor?: MfaMethod;
  factorProven?: boolean;
  passwordProven?: boolean;
  /** The identity provider that signed the user in. */
  sso?: SsoSource;
  /** Id of the session this one replaces; its sign-in, end, method and proofs are taken over. */
  replaces?: string;
  /** Takes over from that session, instead of `mfa`, whether and how a factor was verified. */
  keepsFactor?: boolean;
}

/** State of the user's factors after a change: `mfa` of the new session and its factor, and whether one was proven just now. */
export type FactorProofs = Pick<Required<SessionOptions>, 'mfa' | 'factorProven'> &
  Pick<SessionOptions, 'factor' | 'keepsFactor'>;

/** A session that is stored; its access token is signed after the commit. */
export interface StoredSession {
  refreshToken: string;
  csrfToken: string;
  claims: AccessTokenClaims;
  /** The database clock when it was stored: the access token is never older. */
  storedAt: Date;
}

/** The tokens of a session, for one client. */
export interface IssuedSession extends SessionDto {
  refreshToken: string;
}

/**
 * Creates, reads, refreshes and lists sessions. SessionRevocationsService ends them.
 * @see docs/reference/authentication.md
 */
@Injectable()
export class SessionsService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: SessionsRepository,
    private readonly users: UsersRepository,
    private readonly signingKeys: SigningKeysService,
    private readonly revocations: SessionRevocationsService,
    private readonly grace: MfaGraceService,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Stores a session with its first refresh token, in the transaction of the sign-in. Call `issue` after the commit.
   * @throws UnauthenticatedError when the membership was removed meanwhile, or the session that is replaced is too old
   *   for the policy of the entered tenant; SsoEnforced when the organization admits single sign-on only
   */
  async create(
    tx: SqlExecutor,
    user: User,
    membership: UserMembership,
    options: SessionOptions,
  ): Promise<StoredSession> {
    const id = randomUUID();
    const { ipAddress = null, userAgent = null } = currentContext() ?? {};
    const { key, keyHash } = mintOpaqueToken();
    if (!(await this.repository.enterMembership(tx, user.id, membership))) throw new UnauthenticatedError();
    const stored = await this.repository.insert(tx, {
      id,
      userId: user.id,
      scope: membership.scope,
      partnerId: membership.partnerId,
      orgId: membership.orgId,
      mfa: options.mfa,
      factor: options.mfa ? (options.factor ?? user.mfaMethod) : null,
      method: options.method,
      authEpoch: user.authEpoch,
      mfaEpoch: user.mfaEpoch,
      ipAddress,
      userAgent,
      lifetimeHours: this.lifetimeHours(membership),
      factorProven: options.factorProven ?? false,
      passwordProven: options.passwordProven ?? false,
      replaces: options.replaces ?? null,
      keepsFactor: options.keepsFactor ?? false,
      ssoProviderId: options.sso?.providerId ?? null,
      ssoSid: options.sso?.sid ?? null,
      tokenHash: keyHash,
      tokenTtlDays: this.config.refreshTokenTtlDays,
    });
    if (stored.ended) throw new UnauthenticatedError();
    // The last check of every way of signing in: none passes by an organization that enforces single sign-on.
    if (membership.ssoEnforced && stored.ssoProviderId === null) throw new SsoEnforced();
    const claims = toClaims(user, membership, id, this.hasMfaClaim(membership, stored));
    return { refreshToken: key, csrfToken: newCsrfToken(), claims, storedAt: stored.now };
  }

  /** Signs the access token of a stored session; after the commit, never inside the transaction. */
  async issue({ refreshToken, csrfToken, claims, storedAt }: StoredSession): Promise<IssuedSession> {
    return { tokens: await this.signingKeys.signAccessToken(claims, storedAt), csrfToken, refreshToken };
  }

  /**
   * Returns the claim `mfa` of a session in a membership: a factor was verified that the tenant allows, or factors are
   * switched off.
   */
  hasMfaClaim(membership: PolicyOwners, { mfa, factor }: Pick<SessionFamily, 'mfa' | 'factor'>): boolean {
    if (!this.config.mfa.enabled) return true;
    const allowed = allowedMfaMethods(membership.partnerSecurity, membership.organizationSecurity);
    return mfa && (factor === null || allowed.includes(factor));
  }

  /**
   * Exchanges a refresh token for its successor and a new access token. Of concurrent requests one succeeds; the others
   * get RefreshRaced within the grace time. Later use of a replaced token ends the session.
   * @throws RefreshInvalid, RefreshRaced, RateLimitedError
   */
  async refresh(refreshToken: string): Promise<IssuedSession> {
    const presented = await this.findToken(refreshToken);
    if (!presented) throw new RefreshInvalid();
    await this.limits.hit(this.config.limits.refresh, presented.id);
    if (presented.familyEnded) throw new RefreshInvalid();
    if (presented.rotated) return this.refuseRotated(presented);
    if (presented.expired) throw new RefreshInvalid();

    const user = await this.users.findById(this.worker, presented.userId);
    const membership = user && currentMembership(user, presented);
    const isClosed = membership?.ssoEnforced === true && presented.ssoProviderId === null;
    if (!user || !membership || isClosed || presented.ssoProviderEnded) throw new RefreshInvalid();
    return this.issue(await this.worker.transaction((tx) => this.rotate(tx, presented, user, membership)));
  }

  /** Returns the token with its owner, without using it; null unless the session is active. */
  async findRefreshToken(refreshToken: string): Promise<PresentedToken | null> {
    const presented = await this.findToken(refreshToken);
    return presented && !presented.familyEnded && !presented.expired ? presented : null;
  }

  /** Returns a refresh token of any age with its owner, without using it. */
  findRefreshTokenOwner(refreshToken: string): Promise<PresentedToken | null> {
    return this.findToken(refreshToken);
  }

  /**
   * Ends every session of the caller's user and stores a new one for this client, in the transaction of a change of
   * factors.
   * @throws UnauthenticatedError when the caller's session has ended; of two concurrent changes one succeeds
   */
  async replaceAfterFactorChange(
    tx: OutboxTransaction,
    caller: UserCaller,
    { user, membership }: SessionUser,
    proofs: FactorProofs,
  ): Promise<StoredSession> {
    // Locks the membership before the sessions, as its removal does.
    if (!(await this.repository.enterMembership(tx, user.id, membership))) throw new UnauthenticatedError();
    await this.revocations.revokeForFactorChange(tx, caller);
    const replaces = caller.sessionId;
    const factor = user.mfaMethod ?? 'totp';
    return this.create(tx, user, membership, { method: 'password', factor, ...proofs, replaces });
  }

  /** Returns the caller's user and membership. @throws UnauthenticatedError when one of them no longer exists */
  async getUser(caller: UserCaller): Promise<SessionUser> {
    const user = await this.users.findById(this.worker, caller.userId);
    const membership = user?.memberships.find((m) => sameMembership(m, caller));
    if (!user || !membership) throw new UnauthenticatedError();
    return { user, membership };
  }

  /** Returns the active user of a session that has not ended; null otherwise. */
  async findActive(userId: string, sessionId: string): Promise<User | null> {
    const [user, proofs] = await Promise.all([
      this.users.findById(this.worker, userId),
      this.repository.findProofs(this.worker, sessionId),
    ]);
    return user?.status === 'active' && proofs ? user : null;
  }

  /** Returns when password and factor were last proven, and whether a factor was at all. @throws UnauthenticatedError when the session has ended */
  async getProofs(caller: UserCaller): Promise<SessionProofs> {
    const proofs = await this.repository.findProofs(this.worker, caller.sessionId);
    if (!proofs) throw new UnauthenticatedError();
    return proofs;
  }

  /** Returns true when the token is the valid, newest refresh token of the caller's session. */
  async ownsRefreshToken({ sessionId }: UserCaller, refreshToken: string | undefined): Promise<boolean> {
    if (!refreshToken) return false;
    const token = await this.repository.findToken(this.worker, hashKey(refreshToken));
    return token !== null && token.id === sessionId && !token.familyEnded && !token.expired && !token.rotated;
  }

  /** Lists the active sessions of the caller, newest first. */
  async list(caller: UserCaller, page: PageQueryDto): Promise<Paged<SessionListItemDto>> {
    const { rows, ...counted } = await this.repository.list(caller, page);
    const items = rows.map((row) => toSessionListItem(row, caller.sessionId));
    return toPage(page, counted, items);
  }

  private async findToken(refreshToken: string): Promise<PresentedToken | null> {
    return TOKEN_SHAPE.test(refreshToken) ? this.repository.findToken(this.worker, hashKey(refreshToken)) : null;
  }

  private async rotate(
    tx: WorkerTransaction,
    presented: PresentedToken,
    user: User,
    membership: UserMembership,
  ): Promise<StoredSession> {
    if (!(await this.repository.claimToken(tx, presented.tokenId))) throw new RefreshRaced();
    const { ipAddress = null, userAgent = null } = currentContext() ?? {};
    const use = { lifetimeHours: this.lifetimeHours(membership), ipAddress, userAgent };
    if (!(await this.repository.recordUse(tx, presented.id, use))) throw new RefreshInvalid();
    await this.grace.openIfDue(tx, user, membership);
    const { key, keyHash } = mintOpaqueToken();
    await this.repository.insertToken(tx, presented.id, keyHash, this.config.refreshTokenTtlDays);
    const claims = toClaims(user, membership, presented.id, this.hasMfaClaim(membership, presented));
    return { refreshToken: key, csrfToken: newCsrfToken(), claims, storedAt: user.now };
  }

  private async refuseRotated(presented: PresentedToken): Promise<never> {
    if ((presented.rotatedSecondsAgo ?? 0) < this.config.refreshRotationGraceSeconds) throw new RefreshRaced();
    await this.worker.transaction((tx) => this.revocations.revokeReused(tx, presented));
    throw new RefreshInvalid();
  }

  /** Returns the longest life of a session in this membership: the configured time, or less by a security policy. */
  private lifetimeHours(membership: UserMembership): number {
    const configured = this.config.refreshFamilyAbsoluteTtlDays * 24;
    return Math.min(configured, sessionLifetimeHours(membership) ?? configured);
  }
}

/** Returns true when the proof was given within the last ten minutes. @param now  the database clock */
export const isFresh = (proofAt: Date | null, now: Date): boolean =>
  proofAt !== null && now.getTime() - proofAt.getTime() < FRESH_FOR_MS;

/** Returns the session's membership; null when it is gone or the session is invalid by now. A session never moves. */
function currentMembership(user: User, session: PresentedToken): UserMembership | null {
  const isCurrent = user.authEpoch === session.authEpoch && user.mfaEpoch === session.mfaEpoch;
  if (user.status !== 'active' || !isCurrent) return null;
  return user.memberships.find((m) => sameMembership(m, session)) ?? null;
}

const toClaims = (user: User, membership: UserMembership, sessionId: string, mfa: boolean): AccessTokenClaims => ({
  sub: user.id,
  email: user.email,
  scope: membership.scope,
  partnerId: membership.partnerId,
  orgId: membership.orgId,
  roleId: membership.roleId,
  mfa,
  aep: user.authEpoch,
  mep: user.mfaEpoch,
  sid: sessionId,
});
