import { BadRequestError } from '@rmm/service-kit';

/** A user without a password must reauthenticate at its identity provider; the request has no valid grant of that. */
export class ReauthenticationRequired extends BadRequestError {
  override code = 'enrollment_grant_expired';
  override error = 'Sign in again at your identity provider first';

  constructor() {
    super(undefined, { extras: { reauthUrl: '/sso/reauth' } });
  }
}
