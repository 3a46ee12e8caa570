import { ForbiddenError } from '@rmm/service-kit';
import { IpNotAllowed, MfaEnrollmentRequired } from '../access.errors.js';
import { type AccessRequest, routeOf } from '../callers/access-request.js';
import type { Denial } from './denial-audit.service.js';

/** Maps an error to its denial; null when the caller is unknown or the error is not about the caller's rights. */
export function toDenial(request: AccessRequest, error: unknown): Denial | null {
  const { caller } = request;
  if (!caller || !(error instanceof ForbiddenError || error instanceof MfaEnrollmentRequired)) return null;
  const { code, extras } = error;
  return { caller, action: actionOf(error), code, route: routeOf(request), details: { ...extras } };
}

function actionOf(error: unknown): Denial['action'] {
  if (error instanceof IpNotAllowed) return 'ip_allowlist.denied';
  return error instanceof MfaEnrollmentRequired ? 'auth.mfa.enrollment.required' : 'access.denied';
}
