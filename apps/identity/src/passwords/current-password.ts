import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { BadRequestError, RateLimits, ValidationError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { User } from '../users/user.js';
import { PasswordHasher } from './password-hasher.js';

export class CurrentPasswordWrong extends BadRequestError {
  override code = 'invalid_credentials';
  override error = 'Current password is incorrect';
}

export class PasswordNotSet extends BadRequestError {
  override code = 'password_not_set';
  override error = 'This account has no password';
}

/** Proof by the current password, inside its window against guessing; a right one clears the window. */
@Injectable()
export class CurrentPassword {
  constructor(
    private readonly hasher: PasswordHasher,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * @param user  of the caller
   * @throws ValidationError when it is absent; PasswordNotSet; CurrentPasswordWrong; RateLimitedError
   */
  async prove(caller: UserCaller, user: User, currentPassword: string | undefined): Promise<void> {
    if (currentPassword === undefined) throw ValidationError.of('currentPassword', 'is required');
    await this.limits.hit(this.config.limits.currentPassword, caller.userId);
    if (user.passwordHash === null) throw new PasswordNotSet();
    if (!(await this.hasher.verify(user.passwordHash, currentPassword))) throw new CurrentPasswordWrong();
    await this.limits.reset(this.config.limits.currentPassword, caller.userId);
  }
}
