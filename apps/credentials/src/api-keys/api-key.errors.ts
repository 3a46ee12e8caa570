import { BadRequestError } from '@rmm/service-kit';

export class ApiKeyAlreadyRevoked extends BadRequestError {
  override code = 'api_key_already_revoked';
  override error = 'API key is already revoked';
}
