import { BadRequestError, ConflictError, NotFoundError } from '@rmm/service-kit';

export class ApiKeyNotFound extends NotFoundError {
  constructor() {
    super('API key');
  }
}

export class ApiKeyAlreadyRevoked extends BadRequestError {
  override code = 'api_key_already_revoked';
  override error = 'API key is already revoked';
}

export class ApiKeyNotActive extends BadRequestError {
  override code = 'api_key_not_active';
  override error = 'Only active API keys may be updated or rotated';
}

export class KeyOwnedByServicePrincipal extends ConflictError {
  override code = 'service_principal_key';
  override error = 'The key belongs to a service principal: rotate the principal';
}
