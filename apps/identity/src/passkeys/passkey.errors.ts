import { BadRequestError, ConflictError } from '@rmm/service-kit';
import { LoginFailed } from '../login/login.errors.js';

/** The challenge is unknown or used, or the response of the authenticator is not acceptable; the log has the reason. */
export class PasskeyRegistrationInvalid extends BadRequestError {
  override code = 'passkey_registration_invalid';
  override error = 'The passkey could not be registered';
}

export class TooManyPasskeys extends ConflictError {
  override code = 'passkey_limit_reached';
  override error = 'The account has the maximum number of passkeys';
}

/** One response for every reason; the audit entry contains the reason. */
export class PasskeyLoginFailed extends LoginFailed {
  override error = 'The passkey was not accepted';
}
