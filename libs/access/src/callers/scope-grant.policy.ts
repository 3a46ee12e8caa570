import { isWildcardScope, missingPermissions, permissionsForScopes, type ScopeCatalog } from '@rmm/permissions';
import { PermissionNotDelegable, UnsupportedScope, WildcardScopeUnsupported } from '../access.errors.js';
import type { UserCaller } from './caller.js';

/**
 * Checks that no scope is a wildcard and each is in the catalog.
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
 * Checks that the caller has every permission behind the scopes.
 * @throws PermissionNotDelegable with `required`, the permissions the caller lacks
 */
export function assertCanGrant(caller: UserCaller, scopes: readonly string[], catalog: ScopeCatalog): void {
  const missing = missingPermissions(caller.permissions, permissionsForScopes(scopes, catalog));
  if (missing.length) {
    throw new PermissionNotDelegable(undefined, {
      message: `You do not have ${missing.join(', ')}`,
      extras: { required: missing },
    });
  }
}
