import type { AuditAction } from '@rmm/contracts';
import { ForbiddenError } from '@rmm/service-kit';
import { IpNotAllowed, MfaEnrollmentRequired } from '../access.errors.js';
import { type AccessRequest, routeOf } from '../callers/access-request.js';
import type { Denial } from './denials.js';

/** The denial an error means: null when the caller is unknown, or was not refused for who it is. */
export function refusalOf(request: AccessRequest, error: unknown): Denial | null {
  const { caller } = request;
  if (!caller || !(error instanceof ForbiddenError || error instanceof MfaEnrollmentRequired)) return null;
  const { code, extras } = error;
  return { caller, action: actionOf(error), code, route: routeOf(request), details: { ...extras } };
}

/** The names of CONTRACT.md 9 where it has one. */
function actionOf(error: unknown): AuditAction {
  if (error instanceof IpNotAllowed) return 'ip_allowlist.denied';
  return error instanceof MfaEnrollmentRequired ? 'auth.mfa.enrollment.required' : 'access.denied';
}
