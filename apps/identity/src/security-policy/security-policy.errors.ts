import { ConflictError } from '@rmm/service-kit';

/** Enrolled users would be left with nothing but methods that are no longer allowed. @see CONTRACT.md 5.5 */
export class MfaPolicyWouldLockOutUsers extends ConflictError {
  override code = 'mfa_policy_would_lock_out_users';
  override error = 'The policy would lock out users who are enrolled';

  constructor(readonly lockedOut: { count: number; countCapped: boolean }) {
    super(undefined, { extras: { ...lockedOut } });
  }
}

export class IpAllowlistWouldLockOutCaller extends ConflictError {
  override code = 'ip_allowlist_would_lock_out_caller';
  override error = 'The list of addresses does not contain your own address';
}
