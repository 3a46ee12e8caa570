import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import { AccessChanges } from '../access/access-changes.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { SessionsRepository } from '../sessions/sessions.repository.js';
import { PeopleRepository } from '../users/people.repository.js';
import { CurrentPassword, CurrentPasswordWrong } from './current-password.js';
import { PasswordHasher } from './password-hasher.js';
import { assertStrongPassword } from './password-rules.js';

/** Changing the own password. */
@Injectable()
export class PasswordService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly people: PeopleRepository,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionsRepository,
    private readonly currentPassword: CurrentPassword,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
    private readonly mail: MailOutbox,
  ) {}

  /**
   * Replaces the password, moves the authentication epoch and ends every session, in one transaction.
   * @throws CurrentPasswordWrong, PasswordNotSet, WeakPassword, RateLimitedError
   */
  async change(caller: UserCaller, currentPassword: string, newPassword: string): Promise<void> {
    const person = await this.people.findById(this.worker, caller.userId);
    if (!person) throw new UnauthenticatedError();
    const self = { type: 'user', id: person.id, name: person.name };
    try {
      await this.currentPassword.prove(caller, person, currentPassword);
    } catch (error) {
      if (!(error instanceof CurrentPasswordWrong)) throw error;
      await this.audit.recordDirect(caller, 'user.password.change', self, { reason: 'wrong_password' }, 'failure');
      throw error;
    }
    await assertStrongPassword(newPassword, person);
    const newHash = await this.hasher.hash(newPassword);

    await this.tenants.transaction(caller, async (tx) => {
      const changed = await tx.query(
        `update user_account
         set password_hash = $2, password_changed_at = now(), auth_epoch = auth_epoch + 1,
           reset_epoch = reset_epoch + 1, updated_at = now(),
           setup_completed_at = case when requires_setup then now() else setup_completed_at end, requires_setup = false
         where id = $1 and password_hash = $3 returning id`,
        [person.id, newHash, person.passwordHash],
      );
      if (changed.length === 0) throw new CurrentPasswordWrong();
      await this.sessions.revokeAll(tx, person.id, 'password_change');
      await this.access.announce(tx, { userIds: [person.id], reason: 'password_change' });
      await this.audit.record(tx, caller, 'user.password.change', self);
      await this.mail.add(tx, { to: person.email, template: 'password-changed', values: { name: person.name } });
    });
  }
}
