import { Injectable } from '@nestjs/common';
import type { UserLogout } from '@rmm/contracts';
import { AuditTrail, Outbox, type AuditedCaller } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { InternalError, Logger } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { SessionsRepository } from './sessions.repository.js';

export interface RemovedUser {
  userId: string;
  email: string;
  partnerId: string | null;
  orgId: string | null;
}

/** Ends every session of a user. @see CONTRACT.md 2.7 */
@Injectable()
export class LogoutService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly sessions: SessionsRepository,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly accessChanges: AccessChangesService,
    private readonly logger: Logger,
  ) {}

  /** @throws InternalError 500 when the revocation could not be stored */
  async logout(user: RemovedUser): Promise<void> {
    const { userId, email, partnerId, orgId } = user;
    const caller: AuditedCaller = { actor: { type: 'user', id: userId, email }, tenant: { partnerId, orgId } };
    const self = { type: 'user', id: userId, name: email };
    try {
      await this.worker.transaction(async (tx) => {
        const sessions = await this.sessions.revokeAll(tx, userId, 'logout');
        await this.accessChanges.publish(tx, { userIds: [userId], reason: 'logout' });
        await this.audit.record(tx, caller, 'user.logout', self, { sessions });
        const data: UserLogout = { userId, email };
        if (orgId === null) return;
        const event = { stream: 'events', type: 'user.logout', aggregateId: userId, partnerId, orgId, data } as const;
        await this.outbox.publish(tx, { ...event, actor: caller.actor });
      });
    } catch (cause) {
      const failed = (err: unknown) => this.logger.error({ err }, 'A failed logout could not be audited');
      await this.audit.recordDirect(caller, 'user.logout', self, {}, 'failure').catch(failed);
      throw new InternalError(undefined, { cause });
    }
  }
}
