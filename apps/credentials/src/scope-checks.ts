import type { UserCaller } from '@rmm/access';
import { isWildcardScope, missingPermissions, permissionsForScopes, type ScopeCatalog } from '@rmm/permissions';
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
  override error = 'You can only grant what you hold';
}

/** 403: what is organization-wide is not for members confined to sites. @see CONTRACT.md 4.3 */
export class SiteRestricted extends ForbiddenError {
  override code = 'site_restricted';
  override error = 'Service principals are organization-wide; a site-restricted user cannot manage them.';
}

/**
 * Refuses scopes that are wildcards or not in the catalog.
 * @throws WildcardScopeUnsupported, UnsupportedScope (with `supportedScopes`)
 */
export function assertKnownScopes(scopes: readonly string[], catalog: ScopeCatalog): void {
  if (scopes.some(isWildcardScope)) throw new WildcardScopeUnsupported();
  const unknown = scopes.filter((scope) => !Object.hasOwn(catalog, scope));
  if (unknown.length) {
    throw new UnsupportedScope(undefined, {
      message: `Unsupported scope: ${unknown.join(', ')}`,
      extras: { supportedScopes: Object.keys(catalog) },
    });
  }
}

/**
 * The delegation ceiling: nobody gives a key what they do not hold.
 * @throws PermissionNotDelegable  with `required`, what the caller lacks
 */
export function assertMayGrant(caller: UserCaller, scopes: readonly string[], catalog: ScopeCatalog): void {
  const missing = missingPermissions(caller.permissions, permissionsForScopes(scopes, catalog));
  if (missing.length) {
    throw new PermissionNotDelegable(undefined, {
      message: `You do not hold ${missing.join(', ')}`,
      extras: { required: missing },
    });
  }
}
