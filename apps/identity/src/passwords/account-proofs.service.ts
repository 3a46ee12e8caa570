import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { RateLimit } from '@rmm/rate-limits';
import { SsoReauthGrantsService } from '../sso/sso-reauth-grants.service.js';
import type { User } from '../users/user.types.js';
import { PasswordVerificationService } from './password-verification.service.js';
import { ReauthenticationRequired } from './password.errors.js';

/** The proofs of a request that the owner of the account sent it. */
export interface AccountProofs {
  currentPassword?: string | undefined;
  /** The grant of a sign-in at the identity provider, for accounts without a password. */
  ssoReauthGrantId?: string | undefined;
}

/**
 * Verifies that the owner of the account asks for a change: by the current password, or for an account without one by a
 * fresh sign-in at its identity provider. @see docs/reference/mfa-and-policies.md
 */
@Injectable()
export class AccountProofsService {
  constructor(
    private readonly passwords: PasswordVerificationService,
    private readonly grants: SsoReauthGrantsService,
  ) {}

  /**
   * Verifies the proof without using it up, so that a mistake in another field costs no second sign-in.
   * @param limit  the window of the attempts with a password
   * @returns the grant to use with `consume`; null for a password
   * @throws ValidationError without a required password; CurrentPasswordWrong, RateLimitedError, ReauthenticationRequired
   */
  async verify(
    caller: UserCaller,
    user: User,
    { currentPassword, ssoReauthGrantId }: AccountProofs,
    limit?: RateLimit,
  ): Promise<string | null> {
    if (user.passwordHash !== null) {
      await this.passwords.verifyCurrent(caller, user, currentPassword, limit);
      return null;
    }
    if (!ssoReauthGrantId || !(await this.grants.isValid(ssoReauthGrantId, caller)))
      throw new ReauthenticationRequired();
    return ssoReauthGrantId;
  }

  /** Uses a verified grant. @throws ReauthenticationRequired when a concurrent request used it */
  async consume(caller: UserCaller, grantId: string | null): Promise<void> {
    if (grantId !== null && !(await this.grants.consume(grantId, caller))) throw new ReauthenticationRequired();
  }

  /** Verifies the proof and uses it up. @throws what `verify` throws */
  async use(caller: UserCaller, user: User, proofs: AccountProofs, limit?: RateLimit): Promise<void> {
    await this.consume(caller, await this.verify(caller, user, proofs, limit));
  }
}
