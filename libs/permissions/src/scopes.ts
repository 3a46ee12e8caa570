import { EVERYTHING, type Permission } from './permission.js';

const namesake = (...scopes: Permission[]): Record<string, readonly Permission[]> =>
  Object.fromEntries(scopes.map((scope) => [scope, [scope]]));

/** Each scope of an API key, with what its creator must hold, live, as long as the key works. @see CONTRACT.md 4.1 */
export const API_KEY_SCOPES: Readonly<Record<string, readonly Permission[]>> = {
  ...namesake('devices:read', 'devices:write', 'devices:execute'),
  ...namesake('scripts:read', 'scripts:write', 'scripts:execute'),
  ...namesake('alerts:read', 'alerts:write', 'reports:read', 'reports:write', 'users:read'),
  'ai:read': ['devices:read', 'alerts:read', 'scripts:read', 'automations:read'],
  'ai:write': ['devices:write', 'alerts:write', 'scripts:write', 'automations:write'],
  'ai:execute': ['devices:execute', 'scripts:execute'],
  'ai:execute_admin': [EVERYTHING],
};

/** Each scope of a partner principal, with what whoever grants it must hold. @see CONTRACT.md 4.4.5 */
export const PARTNER_SCOPES: Readonly<Record<string, readonly Permission[]>> = {
  ...namesake('organizations:read', 'sites:read', 'devices:read'),
  'inventory:read': ['devices:read'],
  'configuration:read': ['automations:read'],
  ...namesake('scripts:read'),
  'backup-configuration:read': ['backup:read'],
  'custom-fields:read': ['devices:read'],
  ...namesake('organizations:write', 'sites:write'),
  'enrollment-keys:write': ['organizations:write'],
};

/** Opt-in when a principal is made. @see SPEC.md 2.4 */
export const PARTNER_WRITE_SCOPES: readonly string[] = Object.keys(PARTNER_SCOPES).filter((s) => s.endsWith(':write'));

/** What a principal gets that names none: the eight reads. */
export const DEFAULT_PARTNER_SCOPES: readonly string[] = Object.keys(PARTNER_SCOPES).filter((s) => s.endsWith(':read'));

/**
 * May a key with the scopes `held` pass a route that wants one of `requiredAnyOf`? A route that wants none lets any
 * key pass. Stored wildcards count for nothing. @see SPEC.md 5.2
 */
export function scopesAllow(held: readonly string[], requiredAnyOf: readonly string[]): boolean {
  return requiredAnyOf.length === 0 || requiredAnyOf.some((scope) => held.includes(scope));
}

/** True for `*`, `devices:*`, `*:read`: never accepted in a key's scopes. */
export function isWildcardScope(scope: string): boolean {
  return scope.split(':').includes('*');
}

/**
 * What somebody must hold to grant these scopes, each permission once.
 * @param catalog  `API_KEY_SCOPES` or `PARTNER_SCOPES`; a scope that is not in it needs `*:*`
 */
export function inheritedPermissions(
  scopes: readonly string[],
  catalog: Readonly<Record<string, readonly Permission[]>>,
): Permission[] {
  return [...new Set(scopes.flatMap((scope) => (Object.hasOwn(catalog, scope) ? catalog[scope] : [EVERYTHING])))];
}
