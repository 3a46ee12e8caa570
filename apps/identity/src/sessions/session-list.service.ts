import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { NotFoundError, toPage, type PageQueryDto, type Paged } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { deviceName } from './device-name.js';
import type { SessionListItemDto } from './session-list.dto.js';
import { SessionListRepository, type ListedSession } from './session-list.repository.js';

/** Where somebody is signed in, and an end to it. */
@Injectable()
export class SessionListService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: SessionListRepository,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
  ) {}

  async list(caller: UserCaller, query: PageQueryDto): Promise<Paged<SessionListItemDto>> {
    const { total, rows } = await this.repository.page(caller, query);
    return toPage(
      query,
      total,
      rows.map((row) => toListItem(row, caller.sessionId)),
    );
  }

  /** Ends one session of the caller, its access tokens at once. @throws NotFoundError also for those of others */
  async end(caller: UserCaller, id: string): Promise<void> {
    await this.tenants.transaction(caller, async (tx) => {
      if (!(await this.repository.end(tx, caller.userId, id, 'ended_by_user'))) throw new NotFoundError('Session');
      await this.accessChanges.publish(tx, { userIds: [caller.userId], reason: 'session_ended' });
      const details = { current: id === caller.sessionId };
      await this.audit.record(tx, caller, 'user.session.revoke', { type: 'session', id }, details);
    });
  }

  /** Ends every session of the caller but this one. @returns how many there were */
  endOthers(caller: UserCaller): Promise<number> {
    const { userId, sessionId } = caller;
    return this.tenants.transaction(caller, async (tx) => {
      const sessions = await this.repository.endOthers(tx, userId, sessionId, 'ended_by_user');
      if (sessions > 0) await this.accessChanges.publish(tx, { userIds: [userId], reason: 'session_ended' });
      await this.audit.record(tx, caller, 'user.session.revoke', { type: 'user', id: userId }, { sessions });
      return sessions;
    });
  }
}

const toListItem = (row: ListedSession, currentId: string): SessionListItemDto => ({
  id: row.id,
  device: deviceName(row.userAgent),
  ipAddress: row.ipAddress,
  userAgent: row.userAgent,
  method: row.method,
  mfa: row.mfa,
  createdAt: new Date(row.createdAt).toISOString(),
  lastUsedAt: new Date(row.lastUsedAt).toISOString(),
  expiresAt: new Date(row.expiresAt).toISOString(),
  current: row.id === currentId,
  membership: { scope: row.scope, partnerId: row.partnerId, orgId: row.orgId },
});
