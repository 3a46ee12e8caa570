import { BadRequestError, ForbiddenError, UnauthenticatedError } from '@rmm/service-kit';

/** Wrong TOTP or recovery code; never 401. */
export class MfaCodeInvalid extends BadRequestError {
  override code = 'mfa_code_invalid';
  override error = 'Invalid code';
}

/** The login this temporary token stood for is unknown, used, or no longer what it was. */
export class MfaSessionInvalid extends UnauthenticatedError {
  override code = 'mfa_session_invalid';
  override error = 'MFA session invalid or expired';
}

export class MfaMethodMismatch extends BadRequestError {
  override code = 'mfa_method_mismatch';
  override error = 'This method is not enrolled';
}

export class MfaAlreadyEnabled extends BadRequestError {
  override code = 'mfa_already_enabled';
  override error = 'MFA is already enabled';
}

export class MfaSetupNotPending extends BadRequestError {
  override code = 'mfa_setup_not_pending';
  override error = 'No MFA setup is pending';
}

/** An account with a factor, whose session proved one too long ago, and no good step-up grant. @see CONTRACT.md 4.7 */
export class ExistingFactorStepUpRequired extends ForbiddenError {
  override code = 'existing_factor_step_up_required';
  override error = 'Confirm with an existing factor first';

  constructor() {
    super(undefined, { extras: { stepUpUrl: '/auth/mfa/step-up' } });
  }
}
