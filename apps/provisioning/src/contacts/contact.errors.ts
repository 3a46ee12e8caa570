import { ConflictError } from '@rmm/service-kit';

export class ContactLimitExceeded extends ConflictError {
  override code = 'contact_limit_reached';
  override error = 'The organization has reached its number of contacts';
}
