import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import type { OutboxTransaction } from '@rmm/messaging';
import { WorkerDatabase, type SqlExecutor, type WorkerTransaction } from '@rmm/persistence';
import { hashKey, mintOpaqueToken } from '@rmm/secrets';
import { currentContext, NotFoundError, RateLimits, UnauthenticatedError, ValidationError } from '@rmm/service-kit';
import { toPage, type Paged, type PageQueryDto } from '@rmm/validation';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { sameMembership } from '../members/membership.js';
import { MfaGraceService } from '../mfa/mfa-grace.service.js';
import { sessionLifetimeHours } from '../security-policy/security-policy.js';
import { SigningKeysService, type AccessTokenClaims } from '../signing-keys/signing-keys.service.js';
import { toLoginUser, type User, type UserMembership } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import type { SessionListItemDto } from './dto/session-list-item.dto.js';
import type { SessionDto } from './dto/session.dto.js';
import type { SwitchSessionDto } from './dto/switch-session.dto.js';
import { newCsrfToken } from './session-cookies.service.js';
import type { SessionMethod } from './session-family.entity.js';
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

export interface SessionOptions {
  method: SessionMethod;
  /** A factor was verified in this session. */
  mfa: boolean;
  factorProven?: boolean;
  passwordProven?: boolean;
  /** Id of the session this one replaces; its end, method and proofs are taken over. */
  replaces?: string;
}

/** What is known of the user's factors after a change: `mfa` of the new session, and whether one was proven just now. */
export type FactorProofs = Pick<Required<SessionOptions>, 'mfa' | 'factorProven'>;

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
 * Creates, reads, refreshes, switches and lists sessions. SessionRevocationsService ends them.
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

  /** Stores a session with its first refresh token, in the transaction of the sign-in. Call `issue` after the commit. */
  async create(
    tx: SqlExecutor,
    user: User,
    membership: UserMembership,
    options: SessionOptions,
  ): Promise<StoredSession> {
    const id = randomUUID();
    const { ipAddress = null, userAgent = null } = currentContext() ?? {};
    const { key, keyHash } = mintOpaqueToken();
    const storedAt = await this.repository.insert(tx, {
      id,
      userId: user.id,
      scope: membership.scope,
      partnerId: membership.partnerId,
      orgId: membership.orgId,
      mfa: options.mfa,
      method: options.method,
      authEpoch: user.authEpoch,
      mfaEpoch: user.mfaEpoch,
      ipAddress,
      userAgent,
      lifetimeHours: this.lifetimeHours(membership),
      factorProven: options.factorProven ?? false,
      passwordProven: options.passwordProven ?? false,
      replaces: options.replaces ?? null,
      tokenHash: keyHash,
      tokenTtlDays: this.config.refreshTokenTtlDays,
    });
    const claims = toClaims(user, membership, id, this.hasMfaClaim(options));
    return { refreshToken: key, csrfToken: newCsrfToken(), claims, storedAt };
  }

  /** Signs the access token of a stored session; after the commit, never inside the transaction. */
  async issue({ refreshToken, csrfToken, claims, storedAt }: StoredSession): Promise<IssuedSession> {
    return { tokens: await this.signingKeys.signAccessToken(claims, storedAt), csrfToken, refreshToken };
  }

  /**
   * Returns the claim `mfa`: a factor was verified, or factors are switched off. The session stores the former only, so
   * that sessions of a time without factors do not pass as verified once factors are switched on.
   */
  hasMfaClaim({ mfa }: Pick<SessionOptions, 'mfa'>): boolean {
    return mfa || !this.config.mfa.enabled;
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
    if (!user || !membership) throw new RefreshInvalid();
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
   * Ends the caller's session and issues one in another membership of the same user, with the same `mfa`.
   * @throws NotFoundError when the caller has no such membership; ValidationError for both ids or neither
   */
  async switchMembership(caller: UserCaller, { orgId, partnerId }: SwitchSessionDto) {
    if ((orgId === undefined) === (partnerId === undefined)) {
      throw ValidationError.forField('orgId', 'name orgId or partnerId');
    }
    const user = await this.users.findById(this.worker, caller.userId);
    if (!user) throw new UnauthenticatedError();
    const membership = user.memberships.find((m) =>
      orgId ? m.scope === 'organization' && m.orgId === orgId : m.scope === 'partner' && m.partnerId === partnerId,
    );
    if (!membership) throw new NotFoundError('Membership');
    const { mfa } = await this.getProofs(caller);
    const stored = await this.worker.transaction(async (tx) => {
      await this.revocations.revokeForSwitch(tx, caller, user, membership);
      const options = { method: 'password', mfa, replaces: caller.sessionId } as const;
      return this.create(tx, user, membership, options);
    });
    return { user: toLoginUser(user), session: await this.issue(stored) };
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
    await this.revocations.revokeForFactorChange(tx, caller);
    return this.create(tx, user, membership, { method: 'password', ...proofs, replaces: caller.sessionId });
  }

  /** Returns the caller's user and membership. @throws UnauthenticatedError when one of them no longer exists */
  async getUser(caller: UserCaller): Promise<SessionUser> {
    const user = await this.users.findById(this.worker, caller.userId);
    const membership = user?.memberships.find((m) => sameMembership(m, caller));
    if (!user || !membership) throw new UnauthenticatedError();
    return { user, membership };
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
    const use = { membership, lifetimeHours: this.lifetimeHours(membership), ipAddress, userAgent };
    if (!(await this.repository.recordUse(tx, presented.id, use))) throw new RefreshInvalid();
    await this.grace.openIfDue(tx, user, membership);
    const { key, keyHash } = mintOpaqueToken();
    await this.repository.insertToken(tx, presented.id, keyHash, this.config.refreshTokenTtlDays);
    const claims = toClaims(user, membership, presented.id, this.hasMfaClaim(presented));
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

/** Returns the session's membership while it exists, else the user's first; null when the session is invalid by now. */
function currentMembership(user: User, session: PresentedToken): UserMembership | null {
  const isCurrent = user.authEpoch === session.authEpoch && user.mfaEpoch === session.mfaEpoch;
  if (user.status !== 'active' || !isCurrent) return null;
  return user.memberships.find((m) => sameMembership(m, session)) ?? user.memberships[0] ?? null;
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
