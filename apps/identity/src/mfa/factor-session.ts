import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { OutboxTransaction } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { UnauthenticatedError } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { SessionOpener, type OpenedSession } from '../sessions/session-opener.js';
import { SessionsRepository } from '../sessions/sessions.repository.js';
import type { UserMembership, User } from '../users/user.js';
import type { Epochs } from './factors.repository.js';
import { ReplacementSessionRequired } from './mfa.errors.js';

/** The caller's own session through a change of its factors: all others end, this one is issued anew. */
@Injectable()
export class FactorSession {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly sessions: SessionsRepository,
    private readonly opener: SessionOpener,
    private readonly accessChanges: AccessChangesService,
  ) {}

  /**
   * Can this client be given a new session? Only one that shows the living refresh token of the session it acts in.
   * @throws ReplacementSessionRequired
   */
  async assertReplaceable({ sessionId }: UserCaller, refreshToken: string | undefined): Promise<void> {
    const presented = refreshToken ? await this.sessions.findPresented(this.worker, hashKey(refreshToken)) : null;
    const alive = presented && !presented.familyEnded && !presented.expired && !presented.rotated;
    if (!alive || presented.id !== sessionId) throw new ReplacementSessionRequired();
  }

  /**
   * In the transaction of the change, which moved the epochs. A factor was proven a moment ago.
   * @throws UnauthenticatedError when the caller's session ended after it was let in: of two changes at once, one wins
   */
  async reissue(
    tx: OutboxTransaction,
    caller: UserCaller,
    user: User & Epochs,
    membership: UserMembership,
  ): Promise<OpenedSession> {
    const replaced = await this.sessions.revokeFamily(tx, caller.sessionId, 'mfa_change');
    if (replaced === 0) throw new UnauthenticatedError();
    await this.sessions.revokeAll(tx, user.id, 'mfa_change');
    await this.accessChanges.publish(tx, { userIds: [user.id], reason: 'mfa_change' });
    const replaces = caller.sessionId;
    return this.opener.open(tx, user, membership, { method: 'password', mfa: true, factorProven: true, replaces });
  }
}
