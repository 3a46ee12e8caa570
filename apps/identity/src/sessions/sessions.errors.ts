import { ConflictError, UnauthenticatedError } from '@rmm/service-kit';

/** 401 for every dead refresh token; the controller clears the cookies. */
export class RefreshInvalid extends UnauthenticatedError {
  override code = 'refresh_invalid';
}

/** 409: another tab was a moment faster. No cookie is written; the client repeats the call with what it has by then. */
export class RefreshRaced extends ConflictError {
  override code = 'refresh_raced';
  override error = 'Refresh token was just rotated';

  constructor() {
    super(undefined, { retryAfterSeconds: 1 });
  }
}
