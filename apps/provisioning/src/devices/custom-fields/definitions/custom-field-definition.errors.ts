import { ConflictError } from '@rmm/service-kit';

/** 409: the owner has a definition of this key. */
export class CustomFieldKeyConflict extends ConflictError {
  override code = 'custom_field_key_conflict';
  override error = 'A custom field of this key is already defined';
}

/** 409: at most 200 definitions of an organization, and 200 of a partner. */
export class CustomFieldLimitExceeded extends ConflictError {
  override code = 'custom_field_limit_reached';
  override error = 'The number of custom field definitions has been reached';
}
