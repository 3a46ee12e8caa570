import { BadRequestError } from '@rmm/service-kit';

export class PhoneNotVerified extends BadRequestError {
  override code = 'phone_not_verified';
  override error = 'Verify a phone number first';
}
