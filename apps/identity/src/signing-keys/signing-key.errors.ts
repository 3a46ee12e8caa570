import { ConflictError } from '@rmm/service-kit';

export class SigningKeysConfigured extends ConflictError {
  override code = 'signing_keys_configured';
  override error = 'The signing keys come from JWT_SIGNING_KEYRING: rotate them there';
}
