import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { NotFoundError, UnauthenticatedError, ValidationError } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { UsersRepository } from '../users/users.repository.js';
import { toLoginUser } from '../users/user.js';
import type { SwitchDto } from './dto.js';
import { SessionOpener } from './session-opener.js';
import { SessionsRepository } from './sessions.repository.js';

/** Acting in another of one's own memberships. @see CONTRACT.md 2.2 */
@Injectable()
export class SwitchService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly sessions: SessionsRepository,
    private readonly opener: SessionOpener,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
  ) {}

  /**
   * Ends the caller's session and issues one in the other membership, with the same `mfa`.
   * @throws NotFoundError when the caller has no such membership; ValidationError for both ids or neither
   */
  async switchTo(caller: UserCaller, { orgId, partnerId }: SwitchDto) {
    if ((orgId === undefined) === (partnerId === undefined))
      throw ValidationError.of('orgId', 'name orgId or partnerId');
    const user = await this.users.findById(this.worker, caller.userId);
    if (!user) throw new UnauthenticatedError();
    const membership = user.memberships.find((m) =>
      orgId ? m.scope === 'organization' && m.orgId === orgId : m.scope === 'partner' && m.partnerId === partnerId,
    );
    if (!membership) throw new NotFoundError('Membership');
    const opened = await this.worker.transaction(async (tx) => {
      const ended = await this.sessions.revokeFamily(tx, caller.sessionId, 'switch');
      if (ended === 0) throw new UnauthenticatedError();
      await this.accessChanges.publish(tx, { userIds: [user.id], reason: 'switch' });
      const to = { scope: membership.scope, partnerId: membership.partnerId, orgId: membership.orgId };
      await this.audit.record(
        tx,
        caller,
        'user.context.switch',
        { type: 'user', id: user.id, name: user.name },
        { to },
      );
      return this.opener.open(tx, user, membership, {
        method: 'password',
        mfa: caller.mfa,
        replaces: caller.sessionId,
      });
    });
    return { user: toLoginUser(user), session: await this.opener.issue(opened) };
  }
}
