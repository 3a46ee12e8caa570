import { ConflictError, ForbiddenError, UnauthenticatedError } from '@rmm/service-kit';

/** 401 for every refresh token that is unknown, expired or revoked; the controller clears the cookies. */
export class RefreshInvalid extends UnauthenticatedError {
  override code = 'refresh_invalid';
}

/** 409: a concurrent request rotated the token first. No cookie is set; the client repeats the call. */
export class RefreshRaced extends ConflictError {
  override code = 'refresh_raced';
  override error = 'Refresh token was just rotated';

  constructor() {
    super(undefined, { retryAfterSeconds: 1 });
  }
}

export class CsrfRejected extends ForbiddenError {
  override code = 'csrf_rejected';
  override error = 'CSRF check failed';
}

/** A session of an identity provider has access to the tenant of that provider only. */
export class SwitchNotAllowed extends ForbiddenError {
  override code = 'sso_session_restricted';
  override error = 'This session began with single sign-on of another organization';
}
