import { Injectable } from '@nestjs/common';
import { AuditTrail, type AuditedCaller, type OutboxTransaction } from '@rmm/messaging';
import { MailService } from '../mail/mail.service.js';
import { SessionRevocations } from '../sessions/session-revocations.service.js';
import type { User } from '../users/user.js';
import { PasswordsRepository } from './passwords.repository.js';

export interface NewPassword {
  passwordHash: string;
  /** The hash it replaces; any when null. */
  expectedHash: string | null;
  reason: 'password_change' | 'password_reset';
}

const ACTIONS = { password_change: 'user.password.change', password_reset: 'user.password.reset' } as const;

/** Stores a new password with everything that follows from it: sessions end, and audit entry and mail are written. */
@Injectable()
export class PasswordReplacement {
  constructor(
    private readonly repository: PasswordsRepository,
    private readonly sessions: SessionRevocations,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
  ) {}

  /** @returns false when the account has another password by now */
  async replace(
    tx: OutboxTransaction,
    caller: AuditedCaller,
    { id, name, email }: User,
    { passwordHash, expectedHash, reason }: NewPassword,
  ): Promise<boolean> {
    if (!(await this.repository.replace(tx, id, passwordHash, expectedHash))) return false;
    await this.sessions.revokeAll(tx, id, reason);
    await this.audit.record(tx, caller, ACTIONS[reason], { type: 'user', id, name });
    await this.mail.add(tx, { to: email, template: 'password-changed', values: { name } });
    return true;
  }
}
