import { UnauthenticatedError } from '@rmm/service-kit';

/** One response for every reason; the audit entry contains the reason. */
export class LoginFailed extends UnauthenticatedError {
  override code = 'login_failed';
  override error = 'Invalid email or password';
}

export type LoginRefusal =
  | 'unknown_address'
  | 'locked'
  | 'no_password'
  | 'wrong_password'
  | 'user_not_active'
  | 'no_membership'
  | 'tenant_not_active'
  | 'sso_enforced';
