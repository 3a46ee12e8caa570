import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { NotFoundError, UnauthenticatedError, ValidationError } from '@rmm/service-kit';
import { AccessChanges } from '../access/access-changes.js';
import { PeopleRepository } from '../users/people.repository.js';
import { toLoginUser } from '../users/person.js';
import type { SwitchDto } from './dto.js';
import { SessionOpener } from './session-opener.js';
import { SessionsRepository } from './sessions.repository.js';

/** Acting in another of one's own memberships. @see CONTRACT.md 2.2 */
@Injectable()
export class SwitchService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly people: PeopleRepository,
    private readonly sessions: SessionsRepository,
    private readonly opener: SessionOpener,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
  ) {}

  /**
   * Ends the caller's session and issues one in the other membership, with the same `mfa`.
   * @throws NotFoundError when the caller has no such membership; ValidationError for both ids or neither
   */
  async switchTo(caller: UserCaller, { orgId, partnerId }: SwitchDto) {
    if ((orgId === undefined) === (partnerId === undefined))
      throw ValidationError.of('orgId', 'name orgId or partnerId');
    const person = await this.people.findById(this.worker, caller.userId);
    if (!person) throw new UnauthenticatedError();
    const membership = person.memberships.find((m) =>
      orgId ? m.scope === 'organization' && m.orgId === orgId : m.scope === 'partner' && m.partnerId === partnerId,
    );
    if (!membership) throw new NotFoundError('Membership');
    const opened = await this.worker.transaction(async (tx) => {
      const ended = await this.sessions.revokeFamily(tx, caller.sessionId, 'switch');
      if (ended === 0) throw new UnauthenticatedError();
      await this.access.announce(tx, { userIds: [person.id], reason: 'switch' });
      const to = { scope: membership.scope, partnerId: membership.partnerId, orgId: membership.orgId };
      await this.audit.record(
        tx,
        caller,
        'user.context.switch',
        { type: 'user', id: person.id, name: person.name },
        { to },
      );
      return this.opener.open(tx, person, membership, {
        method: 'password',
        mfa: caller.mfa,
        replaces: caller.sessionId,
      });
    });
    return { user: toLoginUser(person), session: await this.opener.issue(opened) };
  }
}
