import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { currentContext, RateLimits } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { actorOf } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { sameMembership } from '../members/membership.js';
import { MfaGrace } from '../mfa/mfa-grace.js';
import { UsersRepository } from '../users/users.repository.js';
import type { UserMembership, User } from '../users/user.js';
import { newCsrfToken } from './session-cookies.js';
import { claimsOf, SessionOpener, type IssuedSession, type OpenedSession } from './session-opener.js';
import { RefreshInvalid, RefreshRaced } from './sessions.errors.js';
import { SessionsRepository, type PresentedToken } from './sessions.repository.js';

const TOKEN_SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** Rotation of refresh tokens: one winner, a short grace for a second tab, an end for a stolen one. @see CONTRACT.md 2.3 */
@Injectable()
export class RefreshService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly sessions: SessionsRepository,
    private readonly opener: SessionOpener,
    private readonly users: UsersRepository,
    private readonly grace: MfaGrace,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Trades a refresh token for its successor and a new access token.
   * @throws RefreshInvalid, RefreshRaced, RateLimitedError
   */
  async rotate(refreshToken: string): Promise<IssuedSession> {
    if (!TOKEN_SHAPE.test(refreshToken)) throw new RefreshInvalid();
    const presented = await this.sessions.findPresented(this.worker, hashKey(refreshToken));
    if (!presented) throw new RefreshInvalid();
    await this.limits.hit(this.config.limits.refresh, presented.id);
    if (presented.familyEnded) throw new RefreshInvalid();
    if (presented.rotated) return this.refuseRotated(presented);
    if (presented.expired) throw new RefreshInvalid();

    const user = await this.users.findById(this.worker, presented.userId);
    const membership = user && this.liveMembership(user, presented);
    if (!user || !membership) throw new RefreshInvalid();

    const opened = await this.worker.transaction((tx) => this.rotateIn(tx, presented, user, membership));
    return this.opener.issue(opened);
  }

  /** Who presents this token, without using it up; for logout. */
  async findOwner(refreshToken: string): Promise<PresentedToken | null> {
    if (!TOKEN_SHAPE.test(refreshToken)) return null;
    const presented = await this.sessions.findPresented(this.worker, hashKey(refreshToken));
    return presented && !presented.familyEnded && !presented.expired ? presented : null;
  }

  private async rotateIn(
    tx: WorkerTransaction,
    presented: PresentedToken,
    user: User,
    membership: UserMembership,
  ): Promise<OpenedSession> {
    if (!(await this.sessions.claimToken(tx, presented.tokenId))) throw new RefreshRaced();
    const ttlHours = this.opener.lifetimeHours(membership);
    const { ipAddress = null, userAgent = null } = currentContext() ?? {};
    const use = { membership, ttlHours, ipAddress, userAgent };
    if (!(await this.sessions.touchFamily(tx, presented.id, use))) throw new RefreshInvalid();
    await this.grace.openIfDue(tx, user, membership);
    const refreshToken = await this.opener.addToken(tx, presented.id, user.id);
    const claims = claimsOf(user, membership, presented.id, presented.mfa);
    return { refreshToken, csrfToken: newCsrfToken(), claims, storedAt: user.now };
  }

  /** Claims are rebuilt from what the user is now; the session keeps its choice while that membership lives. */
  private liveMembership(user: User, family: PresentedToken): UserMembership | null {
    const current = user.authEpoch === family.authEpoch && user.mfaEpoch === family.mfaEpoch;
    if (user.status !== 'active' || !current) return null;
    return user.memberships.find((m) => sameMembership(m, family)) ?? user.memberships[0] ?? null;
  }

  private async refuseRotated(presented: PresentedToken): Promise<never> {
    if ((presented.rotatedSecondsAgo ?? 0) < this.config.refreshRotationGraceSeconds) throw new RefreshRaced();
    await this.worker.transaction(async (tx) => {
      const ended = await this.sessions.revokeFamily(tx, presented.id, 'reuse_detected');
      if (ended === 0) return;
      const { userId, email, partnerId, orgId } = presented;
      await this.accessChanges.publish(tx, { userIds: [userId], reason: 'refresh_reuse' });
      await this.audit.record(
        tx,
        { actor: actorOf({ id: userId, email }), tenant: { partnerId, orgId } },
        'auth.refresh.reuse_detected',
        { type: 'session', id: presented.id },
        {},
        'denied',
      );
    });
    throw new RefreshInvalid();
  }
}
