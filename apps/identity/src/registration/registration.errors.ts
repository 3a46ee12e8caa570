import { BadRequestError, ForbiddenError } from '@rmm/service-kit';

export class SetupRequired extends ForbiddenError {
  override code = 'setup_required';
  override error = 'This installation has not been set up yet';
}

export class BusinessEmailRequired extends BadRequestError {
  override code = 'business_email_required';
  override error = 'Please use your business e-mail address';

  constructor(publicAppUrl: string) {
    super(undefined, { extras: { actionUrl: `${publicAppUrl}/contact`, actionLabel: 'Contact us' } });
  }
}

export class AlreadyVerified extends BadRequestError {
  override code = 'already_verified';
  override error = 'This address is verified already';
}

/** The link is unknown, used or expired, or its address cannot be used any more. */
export class VerificationInvalid extends BadRequestError {
  override code = 'verification_invalid';
  override error = 'Verification link is invalid or expired';
}
