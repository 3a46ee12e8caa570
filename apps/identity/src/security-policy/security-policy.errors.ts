import { BadRequestError, ConflictError } from '@rmm/service-kit';

/** The change would leave enrolled users without an allowed method. @see docs/reference/mfa-and-policies.md */
export class MfaPolicyWouldLockOutUsers extends ConflictError {
  override code = 'mfa_policy_would_lock_out_users';
  override error = 'The policy would lock out users who are enrolled';

  constructor(readonly lockedOut: { count: number; countCapped: boolean }) {
    super(undefined, { extras: { ...lockedOut } });
  }
}

/** Partner and organization together would exclude every method that this fleet offers. */
export class MfaNoMethodAvailable extends BadRequestError {
  override code = 'mfa_no_method_available';
  override error = 'The policy leaves no method that is available';
}

export class IpAllowlistWouldLockOutCaller extends ConflictError {
  override code = 'ip_allowlist_would_lock_out_caller';
  override error = 'The list of addresses does not contain your own address';
}
