import { BadRequestError } from '@rmm/service-kit';

/** An account without a password proves itself at its identity provider; no good grant of that was sent. */
export class ReauthenticationRequired extends BadRequestError {
  override code = 'enrollment_grant_expired';
  override error = 'Sign in again at your identity provider first';

  constructor() {
    super(undefined, { extras: { reauthUrl: '/sso/reauth' } });
  }
}
