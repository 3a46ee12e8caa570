import { Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { AccessChangesService } from '../access/access-changes.service.js';
import { selfCaller } from '../audit/actors.js';
import { localeOf } from '../mail/mail-locale.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { SessionsRepository } from '../sessions/sessions.repository.js';
import { UsersRepository } from '../users/users.repository.js';
import type { User } from '../users/user.js';
import { AddressLinksRepository } from './address-links.repository.js';
import type { ConfirmedAddressDto } from './verification.dto.js';

/** A followed link proves an address: one that is asked for, or the one the account has. @see CONTRACT.md 4.5, 4.7 */
@Injectable()
export class AddressConfirmationService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly links: AddressLinksRepository,
    private readonly users: UsersRepository,
    private readonly sessions: SessionsRepository,
    private readonly accessChanges: AccessChangesService,
    private readonly audit: AuditTrail,
    private readonly mail: MailOutbox,
  ) {}

  /** @returns null for a link that is not good, also when the address was taken meanwhile: then nothing is changed */
  async confirm(tokenHash: Buffer): Promise<ConfirmedAddressDto | null> {
    try {
      return await this.worker.transaction(async (tx) => {
        const link = await this.links.use(tx, tokenHash);
        const user = link && (await this.users.findById(tx, link.userId));
        if (!user) return null;
        return link.purpose === 'email_change' ? await this.swap(tx, user) : await this.prove(tx, user);
      });
    } catch (error) {
      if (isUniqueViolation(error, 'user_account_email_key')) return null;
      throw error;
    }
  }

  /** Sessions, links of resets and addresses, pending logins and step-up grants of the old address die with it. */
  private async swap(tx: WorkerTransaction, user: User): Promise<ConfirmedAddressDto | null> {
    const { id, name, pendingEmail: email, email: oldEmail } = user;
    if (email === null) return null;
    await tx.query(
      `update user_account
       set email = $2, email_verified_at = now(), pending_email = null, pending_email_requested_at = null,
         auth_epoch = auth_epoch + 1, mfa_epoch = mfa_epoch + 1, reset_epoch = reset_epoch + 1,
         email_epoch = email_epoch + 1, updated_at = now()
       where id = $1`,
      [id, email],
    );
    await this.sessions.revokeAll(tx, id, 'email_change');
    await this.accessChanges.publish(tx, { userIds: [id], reason: 'email_change' });
    const resource = { type: 'user', id, name };
    await this.audit.record(tx, callerOf(user), 'auth.email.change.committed', resource, { oldEmail, newEmail: email });
    const values = { name, newEmail: email };
    await this.mail.add(tx, { to: oldEmail, template: 'email-changed', values, locale: localeOf(user) });
    return { verified: true, purpose: 'email_change', email };
  }

  private async prove(tx: WorkerTransaction, user: User): Promise<ConfirmedAddressDto> {
    const { id, name, email } = user;
    await tx.query(
      `update user_account set email_verified_at = coalesce(email_verified_at, now()), updated_at = now() where id = $1`,
      [id],
    );
    await this.audit.record(tx, callerOf(user), 'auth.email_verified', { type: 'user', id, name });
    return { verified: true, purpose: 'email_verification', email };
  }
}

const callerOf = (user: User) => selfCaller(user, user.memberships[0] ?? null);
