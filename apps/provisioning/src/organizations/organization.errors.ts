import { ConflictError } from '@rmm/service-kit';

export class OrganizationSlugConflict extends ConflictError {
  override code = 'organization_slug_conflict';
  override error = 'Slug is already in use';
}

/** Not retryable: the cap of the partner must be raised or an organization deleted. */
export class OrganizationLimitExceeded extends ConflictError {
  override code = 'organization_limit_reached';
  override error = 'Organization limit reached';
}
