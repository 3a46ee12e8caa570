import { BadRequestError, ForbiddenError } from '@rmm/service-kit';

export class WildcardScopeUnsupported extends BadRequestError {
  override code = 'wildcard_scope_unsupported';
  override error = 'wildcard API key scopes are unsupported';
}

export class UnsupportedScope extends BadRequestError {
  override code = 'unsupported_scope';
  override error = 'Unsupported scope';
}

export class PermissionNotDelegable extends ForbiddenError {
  override code = 'permission_not_delegable';
  override error = 'You can only grant permissions that you have';
}

/** Keys of service principals are organization-wide, so members restricted to sites may not manage them. */
export class SiteRestricted extends ForbiddenError {
  override code = 'site_restricted';
  override error = 'Service principals are organization-wide; a site-restricted user cannot manage them.';
}
