import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { UserLogout } from '@rmm/contracts';
import { AuditTrail, Outbox, type AuditedCaller, type OutboxTransaction } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { InternalError, Logger, NotFoundError, UnauthenticatedError } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { actorOf } from '../audit/actors.js';
import type { MembershipKey } from '../members/membership.types.js';
import type { User } from '../users/user.types.js';
import type { RevokedReason } from './session-family.entity.js';
import { SessionsRepository, type PresentedToken } from './sessions.repository.js';

export interface SessionOwner {
  userId: string;
  email: string;
  partnerId: string | null;
  orgId: string | null;
}

/** Ends sessions. Each method also publishes the change of access, so that every service refuses their tokens at once. */
@Injectable()
export class SessionRevocationsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly repository: SessionsRepository,
    private readonly accessChanges: AccessChangesService,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly logger: Logger,
  ) {}

  /** Ends every session of a user, in the transaction of the change that requires it. @returns how many were active */
  async revokeAll(tx: OutboxTransaction, userId: string, reason: RevokedReason): Promise<number> {
    const sessions = await this.repository.revokeAll(tx, userId, reason);
    await this.publish(tx, userId, reason);
    return sessions;
  }

  /**
   * Ends every session of a user and increments the authentication epoch, for changes that do not increment it
   * themselves. @returns how many were active
   */
  async revokeAllAndIncrementEpoch(tx: OutboxTransaction, userId: string, reason: RevokedReason): Promise<number> {
    await this.repository.incrementAuthEpoch(tx, userId);
    return this.revokeAll(tx, userId, reason);
  }

  /**
   * Ends the sessions of a user that entered one membership, in the transaction that removes it; those in other
   * memberships go on. @returns how many were active
   */
  async revokeInMembership(
    tx: OutboxTransaction,
    userId: string,
    membership: MembershipKey,
    reason: RevokedReason,
  ): Promise<number> {
    const sessions = await this.repository.revokeInMembership(tx, userId, membership, reason);
    await this.publish(tx, userId, reason);
    return sessions;
  }

  /** Ends one session of the caller. @throws NotFoundError, also for sessions of other users */
  async revokeOne(caller: UserCaller, id: string): Promise<void> {
    await this.tenants.transaction(caller, async (tx) => {
      if (!(await this.repository.revokeOwn(tx, caller.userId, id))) throw new NotFoundError('Session');
      await this.publish(tx, caller.userId, 'session_ended');
      const details = { current: id === caller.sessionId };
      await this.audit.record(tx, caller, 'user.session.revoke', { type: 'session', id }, details);
    });
  }

  /** Ends every session of the caller but the current one. @returns how many were active */
  revokeOthers(caller: UserCaller): Promise<number> {
    const { userId, sessionId } = caller;
    return this.tenants.transaction(caller, async (tx) => {
      const sessions = await this.repository.revokeOthers(tx, userId, sessionId);
      if (sessions > 0) await this.publish(tx, userId, 'session_ended');
      await this.audit.record(tx, caller, 'user.session.revoke', { type: 'user', id: userId }, { sessions });
      return sessions;
    });
  }

  /** Ends every session of a user who logs out. @throws InternalError 500 when the revocation could not be stored */
  async logout(owner: SessionOwner): Promise<void> {
    const { userId, email, partnerId, orgId } = owner;
    const caller: AuditedCaller = { actor: { type: 'user', id: userId, email }, tenant: { partnerId, orgId } };
    const self = { type: 'user', id: userId, name: email };
    try {
      await this.worker.transaction(async (tx) => {
        const sessions = await this.revokeAll(tx, userId, 'logout');
        await this.audit.record(tx, caller, 'user.logout', self, { sessions });
        if (orgId === null) return; // webhooks belong to organizations
        const data: UserLogout = { userId, email };
        const event = { stream: 'events', type: 'user.logout', aggregateId: userId, partnerId, orgId, data } as const;
        await this.outbox.publish(tx, { ...event, actor: caller.actor });
      });
    } catch (cause) {
      await this.audit.recordDirect(caller, 'user.logout', self, {}, 'failure').catch((err: unknown) => {
        this.logger.error({ err, userId }, 'audit entry of a failed logout could not be stored; it is lost');
      });
      throw new InternalError(undefined, { cause });
    }
  }

  /** Ends the session of a refresh token that was used twice. Concurrent uses leave one audit entry. */
  async revokeReused(tx: OutboxTransaction, { id, userId, email, partnerId, orgId }: PresentedToken): Promise<void> {
    if ((await this.repository.revoke(tx, id, 'reuse_detected')) === 0) return;
    await this.publish(tx, userId, 'refresh_reuse');
    const caller: AuditedCaller = { actor: actorOf({ id: userId, email }), tenant: { partnerId, orgId } };
    await this.audit.record(tx, caller, 'auth.refresh.reuse_detected', { type: 'session', id }, {}, 'denied');
  }

  /** Ends the caller's session before one in another membership. @throws UnauthenticatedError when it has ended */
  async revokeForSwitch(tx: OutboxTransaction, caller: UserCaller, user: User, next: MembershipKey): Promise<void> {
    await this.revokeCurrent(tx, caller, 'switch');
    await this.publish(tx, user.id, 'switch');
    const to = { scope: next.scope, partnerId: next.partnerId, orgId: next.orgId };
    await this.audit.record(tx, caller, 'user.context.switch', { type: 'user', id: user.id, name: user.name }, { to });
  }

  /** Ends every session of the caller's user. @throws UnauthenticatedError when the caller's own has ended */
  async revokeForFactorChange(tx: OutboxTransaction, caller: UserCaller): Promise<void> {
    await this.revokeCurrent(tx, caller, 'mfa_change');
    await this.revokeAll(tx, caller.userId, 'mfa_change');
  }

  private async revokeCurrent(tx: SqlExecutor, { sessionId }: UserCaller, reason: RevokedReason): Promise<void> {
    if ((await this.repository.revoke(tx, sessionId, reason)) === 0) throw new UnauthenticatedError();
  }

  private publish(tx: OutboxTransaction, userId: string, reason: string): Promise<void> {
    return this.accessChanges.publish(tx, { userIds: [userId], reason });
  }
}
