import { EVERYTHING } from './permission.js';
import type { Permission } from './vocabulary.js';

/** Permissions behind each scope of a catalog. */
export type ScopeCatalog<S extends string = string> = Readonly<Record<S, readonly Permission[]>>;

/**
 * Scopes of API keys, each with the permissions its creator must have. They are checked again on use: the key stops
 * working when its creator loses one of them.
 */
export const API_KEY_SCOPES = {
  'devices:read': ['devices:read'],
  'devices:write': ['devices:write'],
  'devices:execute': ['devices:execute'],
  'scripts:read': ['scripts:read'],
  'scripts:write': ['scripts:write'],
  'scripts:execute': ['scripts:execute'],
  'alerts:read': ['alerts:read'],
  'alerts:write': ['alerts:write'],
  'reports:read': ['reports:read'],
  'reports:write': ['reports:write'],
  'users:read': ['users:read'],
  'ai:read': ['devices:read', 'alerts:read', 'scripts:read', 'automations:read'],
  'ai:write': ['devices:write', 'alerts:write', 'scripts:write', 'automations:write'],
  'ai:execute': ['devices:execute', 'scripts:execute'],
  'ai:execute_admin': [EVERYTHING],
} as const satisfies ScopeCatalog;

/** Scopes of partner principals, each with the permissions that granting it requires. */
export const PARTNER_SCOPES = {
  'organizations:read': ['organizations:read'],
  'sites:read': ['sites:read'],
  'devices:read': ['devices:read'],
  'inventory:read': ['devices:read'],
  'configuration:read': ['automations:read'],
  'scripts:read': ['scripts:read'],
  'backup-configuration:read': ['backup:read'],
  'custom-fields:read': ['devices:read'],
  'organizations:write': ['organizations:write'],
  'sites:write': ['sites:write'],
  'enrollment-keys:write': ['organizations:write'],
} as const satisfies ScopeCatalog;

export type ApiKeyScope = keyof typeof API_KEY_SCOPES;
export type PartnerScope = keyof typeof PARTNER_SCOPES;

/** Scopes of a partner principal whose request names none: the eight that only read. */
export const DEFAULT_PARTNER_SCOPES: readonly PartnerScope[] = (Object.keys(PARTNER_SCOPES) as PartnerScope[]).filter(
  (scope) => scope.endsWith(':read'),
);

/**
 * Checks whether a key may call a route that accepts any one of `requiredAnyOf`. A route that requires none accepts
 * every key. Stored wildcards match nothing.
 */
export function scopesAllow(granted: readonly string[], requiredAnyOf: readonly string[]): boolean {
  return requiredAnyOf.length === 0 || requiredAnyOf.some((scope) => granted.includes(scope));
}

/** Returns true for `*`, `devices:*` and `*:read`, which no key accepts as a scope. */
export function isWildcardScope(scope: string): boolean {
  return scope.split(':').includes('*');
}

/**
 * Returns the permissions that granting these scopes requires, each once.
 * @param catalog  `API_KEY_SCOPES` or `PARTNER_SCOPES`; a scope that it does not contain requires `*:*`
 */
export function permissionsForScopes(scopes: readonly string[], catalog: ScopeCatalog): Permission[] {
  const required = scopes.flatMap((scope): readonly Permission[] =>
    Object.hasOwn(catalog, scope) ? catalog[scope] : [EVERYTHING],
  );
  return [...new Set(required)];
}
