import { ConflictError } from '@rmm/service-kit';

export class SigningKeysConfigured extends ConflictError {
  override code = 'signing_keys_configured';
  override error = 'The signing key comes from JWT_SIGNING_KEYRING: change it there';
}
