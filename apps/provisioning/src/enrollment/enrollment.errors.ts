import type { EnrollmentRefusal } from '@rmm/contracts';
import { ForbiddenError, UnauthenticatedError } from '@rmm/service-kit';

/** 401: no key has this hash with any pepper. */
export class InvalidEnrollmentKey extends UnauthenticatedError {
  override code = 'invalid_enrollment_key';
  override error = 'Invalid enrollment key';
}

const TEXTS = {
  enrollment_key_expired: 'Enrollment key has expired',
  enrollment_key_exhausted: 'Enrollment key has no uses left',
  enrollment_key_race_lost: 'The last use of the enrollment key went to another agent',
} as const;

/** 403: the key exists; `code` and `reason` name why it cannot be used now. */
export class EnrollmentKeyUnusable extends ForbiddenError {
  override code: string;
  override error: string;

  constructor(reason: Exclude<EnrollmentRefusal, 'invalid_enrollment_key'>) {
    super(undefined, { extras: { reason } });
    this.code = reason;
    this.error = TEXTS[reason];
  }
}

export class EnrollmentSecretRequired extends ForbiddenError {
  override code = 'enrollment_secret_required';
  override error = 'Enrollment secret required';
}

export class EnrollmentSecretInvalid extends ForbiddenError {
  override code = 'enrollment_secret_invalid';
  override error = 'Enrollment secret is not valid';
}

/** Not retryable: the cap of the partner must be raised or a device decommissioned. */
export class DeviceLimitExceeded extends ForbiddenError {
  override code = 'device_limit_reached';
  override error = 'Device limit reached';
}
