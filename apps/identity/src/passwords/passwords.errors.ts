import { BadRequestError } from '@rmm/service-kit';

/** One answer for every link that is not good; the reason stands in the audit row, as far as it is known. */
export class ResetTokenInvalid extends BadRequestError {
  override code = 'reset_token_invalid';
  override error = 'This link is invalid or has expired';
}
