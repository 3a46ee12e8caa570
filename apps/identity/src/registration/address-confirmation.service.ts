import { Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { AccessChanges } from '../access/access-changes.js';
import { selfCaller } from '../audit/actors.js';
import { localeOf } from '../mail/mail-locale.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { SessionsRepository } from '../sessions/sessions.repository.js';
import { PeopleRepository } from '../users/people.repository.js';
import type { Person } from '../users/person.js';
import { AddressLinksRepository } from './address-links.repository.js';
import type { ConfirmedAddressDto } from './verification.dto.js';

/** A followed link proves an address: one that is asked for, or the one the account has. @see CONTRACT.md 4.5, 4.7 */
@Injectable()
export class AddressConfirmationService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly links: AddressLinksRepository,
    private readonly people: PeopleRepository,
    private readonly sessions: SessionsRepository,
    private readonly access: AccessChanges,
    private readonly audit: AuditTrail,
    private readonly mail: MailOutbox,
  ) {}

  /** @returns null for a link that is not good, also when the address was taken meanwhile: then nothing is changed */
  async confirm(tokenHash: Buffer): Promise<ConfirmedAddressDto | null> {
    try {
      return await this.worker.transaction(async (tx) => {
        const link = await this.links.use(tx, tokenHash);
        const person = link && (await this.people.findById(tx, link.userId));
        if (!person) return null;
        return link.purpose === 'email_change' ? await this.swap(tx, person) : await this.prove(tx, person);
      });
    } catch (error) {
      if (isUniqueViolation(error, 'user_account_email_key')) return null;
      throw error;
    }
  }

  /** Sessions, links of resets and addresses, pending logins and step-up grants of the old address die with it. */
  private async swap(tx: WorkerTransaction, person: Person): Promise<ConfirmedAddressDto | null> {
    const { id, name, pendingEmail: email, email: oldEmail } = person;
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
    await this.access.announce(tx, { userIds: [id], reason: 'email_change' });
    const resource = { type: 'user', id, name };
    await this.audit.record(tx, callerOf(person), 'auth.email.change.committed', resource, {
      oldEmail,
      newEmail: email,
    });
    const values = { name, newEmail: email };
    await this.mail.add(tx, { to: oldEmail, template: 'email-changed', values, locale: localeOf(person) });
    return { verified: true, purpose: 'email_change', email };
  }

  private async prove(tx: WorkerTransaction, person: Person): Promise<ConfirmedAddressDto> {
    const { id, name, email } = person;
    await tx.query(
      `update user_account set email_verified_at = coalesce(email_verified_at, now()), updated_at = now() where id = $1`,
      [id],
    );
    await this.audit.record(tx, callerOf(person), 'auth.email_verified', { type: 'user', id, name });
    return { verified: true, purpose: 'email_verification', email };
  }
}

const callerOf = (person: Person) => selfCaller(person, person.memberships[0] ?? null);
