import { BadRequestError, ConflictError, ForbiddenError, NotFoundError } from '@rmm/service-kit';

export class ServicePrincipalNotFound extends NotFoundError {
  constructor() {
    super('Service principal');
  }
}

export class ServicePrincipalDisabled extends ConflictError {
  override code = 'service_principal_disabled';
  override error = 'The service principal is disabled';
}

/** Service principals and their keys are organization-wide. */
export class SiteRestricted extends ForbiddenError {
  override code = 'site_restricted';
  override error = 'Service principals are organization-wide; a site-restricted user cannot manage them.';
}

/** Without one, rotation would turn a key for a limited time into one that never expires. */
export class ExpiryRequired extends BadRequestError {
  override code = 'expiry_required';
  override error = 'The key has expired: give expiresAt for the new one';
}

export class KeyNotInOrganization extends BadRequestError {
  override code = 'key_not_in_organization';
  override error = 'The key belongs to another organization';
}
