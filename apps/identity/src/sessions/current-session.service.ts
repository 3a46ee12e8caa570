import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { UnauthenticatedError } from '@rmm/service-kit';
import { sameMembership } from '../members/membership.js';
import type { User, UserMembership } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import { SessionsRepository, type SessionProofs } from './sessions.repository.js';

/** Ten minutes, in milliseconds. @see docs/reference/mfa-and-policies.md */
const FRESH_FOR_MS = 600_000;

/** Reads the session of a caller: its user, the membership it acts in, and the proofs given in it. */
@Injectable()
export class CurrentSession {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly sessions: SessionsRepository,
  ) {}

  /** @throws UnauthenticatedError when the user or the membership no longer exists */
  async getUser(caller: UserCaller): Promise<{ user: User; membership: UserMembership }> {
    const user = await this.users.findById(this.worker, caller.userId);
    const membership = user?.memberships.find((m) => sameMembership(m, caller));
    if (!user || !membership) throw new UnauthenticatedError();
    return { user, membership };
  }

  /** Returns when password and factor were last proven. @throws UnauthenticatedError when the session has ended */
  async getProofs(caller: UserCaller): Promise<SessionProofs> {
    const proofs = await this.sessions.findProofs(this.worker, caller.sessionId);
    if (!proofs) throw new UnauthenticatedError();
    return proofs;
  }

  /** Returns true when the token is the valid, newest refresh token of the caller's session. */
  async ownsRefreshToken({ sessionId }: UserCaller, refreshToken: string | undefined): Promise<boolean> {
    if (!refreshToken) return false;
    const token = await this.sessions.findToken(this.worker, hashKey(refreshToken));
    return token !== null && token.id === sessionId && !token.familyEnded && !token.expired && !token.rotated;
  }
}

/** Returns true when the proof was given within the last ten minutes. @param now  the database clock */
export const isFresh = (proofAt: Date | null, now: Date): boolean =>
  proofAt !== null && now.getTime() - proofAt.getTime() < FRESH_FOR_MS;
