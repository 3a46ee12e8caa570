import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, type AuditedCaller, type OutboxTransaction } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { MailService } from '../mail/mail.service.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { User } from '../users/user.js';
import { PasswordHasher } from './password-hasher.service.js';
import { assertStrongPassword } from './password-rules.js';
import { PasswordVerificationService } from './password-verification.service.js';
import { CurrentPasswordWrong } from './password.errors.js';
import { PasswordsRepository } from './passwords.repository.js';

export interface NewPassword {
  passwordHash: string;
  /** The hash it replaces; any when null. */
  expectedHash: string | null;
  reason: 'password_change' | 'password_reset';
}

const ACTIONS = { password_change: 'user.password.change', password_reset: 'user.password.reset' } as const;

/** Changes passwords of accounts. @see docs/reference/authentication.md */
@Injectable()
export class PasswordsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly sessions: SessionsService,
    private readonly verification: PasswordVerificationService,
    private readonly hasher: PasswordHasher,
    private readonly repository: PasswordsRepository,
    private readonly revocations: SessionRevocationsService,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
  ) {}

  /**
   * Changes the password of a signed-in user and ends every session, in one transaction. Every call counts, also one
   * with the correct password: each costs a score and hashes.
   * @throws CurrentPasswordWrong, PasswordNotSet, WeakPassword, RateLimitedError
   */
  async change(caller: UserCaller, currentPassword: string, newPassword: string): Promise<void> {
    await this.verification.countChange(caller);
    const { user } = await this.sessions.getUser(caller);
    await this.verifyCurrent(caller, user, currentPassword);
    await assertStrongPassword(newPassword, user);
    const passwordHash = await this.hasher.hash(newPassword);
    const change = { passwordHash, expectedHash: user.passwordHash, reason: 'password_change' } as const;
    const stored = await this.tenants.transaction(caller, (tx) => this.replace(tx, caller, user, change));
    if (!stored) throw new CurrentPasswordWrong();
  }

  /**
   * Stores a new password with everything that follows from it: sessions end, and audit entry and mail are written.
   * @returns false when the account has another password by now
   */
  async replace(
    tx: OutboxTransaction,
    caller: AuditedCaller,
    { id, name, email }: User,
    { passwordHash, expectedHash, reason }: NewPassword,
  ): Promise<boolean> {
    if (!(await this.repository.replace(tx, id, passwordHash, expectedHash))) return false;
    await this.revocations.revokeAll(tx, id, reason);
    await this.audit.record(tx, caller, ACTIONS[reason], { type: 'user', id, name });
    await this.mail.add(tx, { to: email, template: 'password-changed', values: { name } });
    return true;
  }

  private async verifyCurrent(caller: UserCaller, user: User, currentPassword: string): Promise<void> {
    try {
      await this.verification.verifyCurrent(caller, user, currentPassword);
    } catch (error) {
      if (!(error instanceof CurrentPasswordWrong)) throw error;
      const self = { type: 'user', id: user.id, name: user.name };
      await this.audit.recordDirect(caller, 'user.password.change', self, { reason: 'wrong_password' }, 'failure');
      throw error;
    }
  }
}
