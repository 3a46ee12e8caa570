import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import { sameMembership } from '../members/membership.js';
import { UsersRepository } from '../users/users.repository.js';
import type { UserMembership, User } from '../users/user.js';
import { SessionsRepository, type SessionProofs } from './sessions.repository.js';

/** A proof older than this has to be given again before something dangerous. @see CONTRACT.md 4.5, 4.7 */
const FRESH_FOR_MS = 600_000;

/** The user behind a caller, the membership it acts in, and when it last proved who it is. */
@Injectable()
export class OwnSession {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly sessions: SessionsRepository,
  ) {}

  /** @throws UnauthenticatedError when the user or the membership went meanwhile */
  async userOf(caller: UserCaller): Promise<{ user: User; membership: UserMembership }> {
    const user = await this.users.findById(this.worker, caller.userId);
    const membership = user?.memberships.find((m) => sameMembership(m, caller));
    if (!user || !membership) throw new UnauthenticatedError();
    return { user, membership };
  }

  /** @throws UnauthenticatedError when the session ended meanwhile */
  async proofsOf(caller: UserCaller): Promise<SessionProofs> {
    const proofs = await this.sessions.findProofs(this.worker, caller.sessionId);
    if (!proofs) throw new UnauthenticatedError();
    return proofs;
  }
}

/** Was this proof given within the last ten minutes, by the database clock? */
export const isFresh = (proofAt: Date | null, now: Date): boolean =>
  proofAt !== null && now.getTime() - proofAt.getTime() < FRESH_FOR_MS;
