import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import type { User } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import { CurrentPassword } from './current-password.service.js';
import { PasswordHasher } from './password-hasher.service.js';
import { PasswordReplacement } from './password-replacement.service.js';
import { assertStrongPassword } from './password-rules.js';
import { CurrentPasswordWrong } from './password.errors.js';

/** Changes the password of a signed-in user. */
@Injectable()
export class PasswordChangeService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly currentPassword: CurrentPassword,
    private readonly hasher: PasswordHasher,
    private readonly replacement: PasswordReplacement,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Replaces the password and ends every session, in one transaction.
   * @throws CurrentPasswordWrong, PasswordNotSet, WeakPassword, RateLimitedError
   */
  async change(caller: UserCaller, currentPassword: string, newPassword: string): Promise<void> {
    const user = await this.users.findById(this.worker, caller.userId);
    if (!user) throw new UnauthenticatedError();
    await this.verify(caller, user, currentPassword);
    await assertStrongPassword(newPassword, user);
    const passwordHash = await this.hasher.hash(newPassword);
    const change = { passwordHash, expectedHash: user.passwordHash, reason: 'password_change' } as const;
    const stored = await this.tenants.transaction(caller, (tx) => this.replacement.replace(tx, caller, user, change));
    if (!stored) throw new CurrentPasswordWrong();
  }

  private async verify(caller: UserCaller, user: User, currentPassword: string): Promise<void> {
    try {
      await this.currentPassword.verify(caller, user, currentPassword);
    } catch (error) {
      if (!(error instanceof CurrentPasswordWrong)) throw error;
      const self = { type: 'user', id: user.id, name: user.name };
      await this.audit.recordDirect(caller, 'user.password.change', self, { reason: 'wrong_password' }, 'failure');
      throw error;
    }
  }
}
