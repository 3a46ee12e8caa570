import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/service-kit';
import { selfCaller, unknownCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { User } from '../users/user.js';
import { PasswordHasher } from './password-hasher.service.js';
import { assertStrongPassword } from './password-rules.js';
import { PasswordVerificationService } from './password-verification.service.js';
import { ResetTokenInvalid } from './password.errors.js';
import { PasswordsService } from './passwords.service.js';
import { ResetLinksService } from './reset-links.service.js';

/** Sets a new password by a mailed link. It creates no session: the user signs in, with the factor, afterwards. */
@Injectable()
export class PasswordResetService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly links: ResetLinksService,
    private readonly hasher: PasswordHasher,
    private readonly passwords: PasswordsService,
    private readonly verification: PasswordVerificationService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Uses the link, replaces the password and ends every session, in one transaction. A password that is refused leaves
   * the link valid.
   * @param client  key of the rate limit
   * @throws WeakPassword, ResetTokenInvalid, RateLimitedError
   */
  async reset(token: string, password: string, client: string): Promise<void> {
    await this.limits.hit(this.config.limits.resetPassword, client);
    const owner = await this.links.findUser(token);
    await assertStrongPassword(password, owner ?? { email: '' });
    if (!owner) return this.refuse(null);
    const passwordHash = await this.hasher.hash(password);
    if (!(await this.replace(token, passwordHash))) return this.refuse(owner);
    await this.verification.tryClearLock(owner.id);
  }

  /** Returns false when the link is invalid by now. */
  private replace(token: string, passwordHash: string): Promise<boolean> {
    return this.worker.transaction(async (tx) => {
      const user = await this.links.use(tx, token);
      if (!user) return false;
      const caller = selfCaller(user, user.memberships[0] ?? null);
      return this.passwords.replace(tx, caller, user, { passwordHash, expectedHash: null, reason: 'password_reset' });
    });
  }

  /** @param user  the user of the link, or null when it is unknown */
  private async refuse(user: User | null): Promise<never> {
    const caller = user ? selfCaller(user, user.memberships[0] ?? null) : unknownCaller();
    const resource = { type: 'user', id: user?.id ?? null, name: user?.name ?? null };
    await this.audit.recordDirect(caller, 'user.password.reset', resource, { reason: 'token_invalid' }, 'failure');
    throw new ResetTokenInvalid();
  }
}
