import { BadRequestError, UnavailableError } from '@rmm/service-kit';

export class CurrentPasswordWrong extends BadRequestError {
  override code = 'invalid_credentials';
  override error = 'Current password is incorrect';
}

export class PasswordNotSet extends BadRequestError {
  override code = 'password_not_set';
  override error = 'This account has no password';
}

/** A user without a password must reauthenticate at its identity provider; the request has no valid grant of that. */
export class ReauthenticationRequired extends BadRequestError {
  override code = 'enrollment_grant_expired';
  override error = 'Sign in again at your identity provider first';

  constructor() {
    super(undefined, { extras: { reauthUrl: '/sso/reauth' } });
  }
}

/** The message names the first violated rule. @see docs/reference/authentication.md */
export class WeakPassword extends BadRequestError {
  override code = 'weak_password';
}

/** One response for every invalid link; the audit entry contains the reason as far as it is known. */
export class ResetTokenInvalid extends BadRequestError {
  override code = 'reset_token_invalid';
  override error = 'This link is invalid or has expired';
}

/** Too many callers wait for a hash; further ones are refused instead of delaying everyone. */
export class HashingOverloaded extends UnavailableError {}
