import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { RateLimits, ValidationError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { User } from '../users/user.js';
import { PasswordHasher } from './password-hasher.service.js';
import { CurrentPasswordWrong, PasswordNotSet } from './password.errors.js';

/** Verifies the current password of a signed-in user, within a rate limit that a correct password resets. */
@Injectable()
export class CurrentPassword {
  constructor(
    private readonly hasher: PasswordHasher,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * @param user  the user of the caller
   * @throws ValidationError when the password is absent; PasswordNotSet; CurrentPasswordWrong; RateLimitedError
   */
  async verify(caller: UserCaller, user: User, currentPassword: string | undefined): Promise<void> {
    if (currentPassword === undefined) throw ValidationError.forField('currentPassword', 'is required');
    await this.limits.hit(this.config.limits.currentPassword, caller.userId);
    if (user.passwordHash === null) throw new PasswordNotSet();
    if (!(await this.hasher.verify(user.passwordHash, currentPassword))) throw new CurrentPasswordWrong();
    await this.limits.reset(this.config.limits.currentPassword, caller.userId);
  }
}
