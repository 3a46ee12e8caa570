import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { SessionsRepository } from '../sessions/sessions.repository.js';
import { UsersRepository } from '../users/users.repository.js';
import { CurrentPassword, CurrentPasswordWrong } from '../passwords/current-password.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { assertStrongPassword } from '../passwords/password-rules.js';

/** Changing the own password. */
@Injectable()
export class PasswordService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionsRepository,
    private readonly currentPassword: CurrentPassword,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
    private readonly mail: MailOutbox,
  ) {}

  /**
   * Replaces the password, moves the authentication epoch and ends every session, in one transaction.
   * @throws CurrentPasswordWrong, PasswordNotSet, WeakPassword, RateLimitedError
   */
  async change(caller: UserCaller, currentPassword: string, newPassword: string): Promise<void> {
    const user = await this.users.findById(this.worker, caller.userId);
    if (!user) throw new UnauthenticatedError();
    const self = { type: 'user', id: user.id, name: user.name };
    try {
      await this.currentPassword.prove(caller, user, currentPassword);
    } catch (error) {
      if (!(error instanceof CurrentPasswordWrong)) throw error;
      await this.audit.recordDirect(caller, 'user.password.change', self, { reason: 'wrong_password' }, 'failure');
      throw error;
    }
    await assertStrongPassword(newPassword, user);
    const newHash = await this.hasher.hash(newPassword);

    await this.tenants.transaction(caller, async (tx) => {
      const changed = await tx.query(
        `update user_account
         set password_hash = $2, password_changed_at = now(), auth_epoch = auth_epoch + 1,
           reset_epoch = reset_epoch + 1, updated_at = now(),
           setup_completed_at = case when requires_setup then now() else setup_completed_at end, requires_setup = false
         where id = $1 and password_hash = $3 returning id`,
        [user.id, newHash, user.passwordHash],
      );
      if (changed.length === 0) throw new CurrentPasswordWrong();
      await this.sessions.revokeAll(tx, user.id, 'password_change');
      await this.accessChanges.publish(tx, { userIds: [user.id], reason: 'password_change' });
      await this.audit.record(tx, caller, 'user.password.change', self);
      await this.mail.add(tx, { to: user.email, template: 'password-changed', values: { name: user.name } });
    });
  }
}
