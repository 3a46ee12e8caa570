import { Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { selfCaller } from '../audit/actors.js';
import { localeOf } from '../mail/mail-locale.js';
import { MailService } from '../mail/mail.service.js';
import { SessionRevocations } from '../sessions/session-revocations.service.js';
import type { User } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import type { ConfirmedAddressDto } from './dto/verification.dto.js';
import { EmailLinksRepository } from './email-links.repository.js';

/** Confirms e-mail addresses of existing users: a requested one, or the current one. */
@Injectable()
export class AddressConfirmationService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly links: EmailLinksRepository,
    private readonly users: UsersRepository,
    private readonly sessions: SessionRevocations,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
  ) {}

  /** @returns null for an invalid link, also when another user has the address by now: then nothing is changed */
  async confirm(tokenHash: Buffer): Promise<ConfirmedAddressDto | null> {
    try {
      return await this.worker.transaction(async (tx) => {
        const link = await this.links.use(tx, tokenHash);
        const user = link && (await this.users.findById(tx, link.userId));
        if (!user) return null;
        return link.purpose === 'email_change' ? await this.commitChange(tx, user) : await this.markVerified(tx, user);
      });
    } catch (error) {
      if (isUniqueViolation(error, 'user_account_email_key')) return null;
      throw error;
    }
  }

  private async commitChange(tx: WorkerTransaction, user: User): Promise<ConfirmedAddressDto | null> {
    const { id, name, pendingEmail: email, email: oldEmail } = user;
    if (email === null) return null;
    await this.links.commitChange(tx, id, email);
    await this.sessions.revokeAll(tx, id, 'email_change');
    const resource = { type: 'user', id, name };
    await this.audit.record(tx, callerOf(user), 'auth.email.change.committed', resource, { oldEmail, newEmail: email });
    const values = { name, newEmail: email };
    await this.mail.add(tx, { to: oldEmail, template: 'email-changed', values, locale: localeOf(user) });
    return { verified: true, purpose: 'email_change', email };
  }

  private async markVerified(tx: WorkerTransaction, user: User): Promise<ConfirmedAddressDto> {
    const { id, name, email } = user;
    await this.links.markVerified(tx, id);
    await this.audit.record(tx, callerOf(user), 'auth.email_verified', { type: 'user', id, name });
    return { verified: true, purpose: 'email_verification', email };
  }
}

const callerOf = (user: User) => selfCaller(user, user.memberships[0] ?? null);
