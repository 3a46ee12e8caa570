import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { currentContext, RateLimits } from '@rmm/service-kit';
import { AccessChanges } from '../access/access-changes.js';
import { actorOf } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { sameMembership } from '../memberships/membership.js';
import { MfaGrace } from '../mfa/mfa-grace.js';
import { PeopleRepository } from '../users/people.repository.js';
import type { LiveMembership, Person } from '../users/person.js';
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
    private readonly people: PeopleRepository,
    private readonly grace: MfaGrace,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
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

    const person = await this.people.findById(this.worker, presented.userId);
    const membership = person && this.liveMembership(person, presented);
    if (!person || !membership) throw new RefreshInvalid();

    const opened = await this.worker.transaction((tx) => this.rotateIn(tx, presented, person, membership));
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
    person: Person,
    membership: LiveMembership,
  ): Promise<OpenedSession> {
    if (!(await this.sessions.claimToken(tx, presented.tokenId))) throw new RefreshRaced();
    const ttlHours = this.opener.lifetimeHours(membership);
    const { ipAddress = null, userAgent = null } = currentContext() ?? {};
    const use = { membership, ttlHours, ipAddress, userAgent };
    if (!(await this.sessions.touchFamily(tx, presented.id, use))) throw new RefreshInvalid();
    await this.grace.openIfDue(tx, person, membership);
    const refreshToken = await this.opener.addToken(tx, presented.id, person.id);
    const claims = claimsOf(person, membership, presented.id, presented.mfa);
    return { refreshToken, csrfToken: newCsrfToken(), claims, storedAt: person.now };
  }

  /** Claims are rebuilt from what the person is now; the session keeps its choice while that membership lives. */
  private liveMembership(person: Person, family: PresentedToken): LiveMembership | null {
    const current = person.authEpoch === family.authEpoch && person.mfaEpoch === family.mfaEpoch;
    if (person.status !== 'active' || !current) return null;
    return person.memberships.find((m) => sameMembership(m, family)) ?? person.memberships[0] ?? null;
  }

  private async refuseRotated(presented: PresentedToken): Promise<never> {
    if ((presented.rotatedSecondsAgo ?? 0) < this.config.refreshRotationGraceSeconds) throw new RefreshRaced();
    await this.worker.transaction(async (tx) => {
      const ended = await this.sessions.revokeFamily(tx, presented.id, 'reuse_detected');
      if (ended === 0) return;
      const { userId, email, partnerId, orgId } = presented;
      await this.access.announce(tx, { userIds: [userId], reason: 'refresh_reuse' });
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
