import { BadRequestError, ConflictError, NotFoundError } from '@rmm/service-kit';

export class ServicePrincipalNotFound extends NotFoundError {
  constructor() {
    super('Service principal');
  }
}

export class ServicePrincipalDisabled extends ConflictError {
  override code = 'service_principal_disabled';
  override error = 'The service principal is disabled';
}

export class KeyNotInOrganization extends BadRequestError {
  override code = 'key_not_in_organization';
  override error = 'The key belongs to another organization';
}
