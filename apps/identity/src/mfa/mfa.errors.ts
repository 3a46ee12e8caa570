import {
  BadRequestError,
  ForbiddenError,
  NotImplementedError,
  PreconditionRequiredError,
  UnauthenticatedError,
} from '@rmm/service-kit';

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

export class MfaNotEnabled extends BadRequestError {
  override code = 'mfa_not_enabled';
  override error = 'MFA is not enabled';
}

export class MfaRequiredByPolicy extends ForbiddenError {
  override code = 'mfa_required_by_policy';
  override error = 'MFA is required by your organization';
}

/** An owner of the membership in force excludes this way of proving. */
export class MfaMethodNotAllowed extends ForbiddenError {
  override code = 'mfa_method_not_allowed';
  override error = 'This method is not allowed by your organization';
}

/** 428: every session ends with the change, and this client shows nothing that its new one could replace. */
export class ReplacementSessionRequired extends PreconditionRequiredError {
  override code = 'replacement_session_required';
  override error = 'A refresh token of this session is required';
}

/** The proof of a step-up is wrong; never 401, and it burns no grant. */
export class MfaProofInvalid extends BadRequestError {
  override code = 'mfa_proof_invalid';
  override error = 'Invalid proof';
}

export class PasskeyNotAvailable extends BadRequestError {
  override code = 'passkey_not_available';
  override error = 'No passkey is available';
}

export class SmsNotConfigured extends NotImplementedError {
  override code = 'sms_not_configured';
  override error = 'SMS is not configured';
}

/** Nobody resets its own factor as an administrator: that is what disabling is for. */
export class SelfResetRefused extends BadRequestError {
  override code = 'self_action_refused';
  override error = 'You cannot do this to your own account';
}

/** The user also belongs to tenants the caller does not reach; which ones is not said. */
export class UserInOtherTenants extends ForbiddenError {
  override code = 'user_in_other_tenants';
  override error = 'This user also belongs to tenants outside your reach';
}
