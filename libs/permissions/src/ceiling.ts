import { EVERYTHING, isWildcard, splitPermission } from './permission.js';
import type { Permission } from './vocabulary.js';

/**
 * Checks whether the granted permissions include the needed one; a granted `*` matches every resource or action.
 * Costs four set look-ups when `granted` is a Set.
 */
export function hasPermission(granted: Iterable<Permission>, needed: Permission): boolean {
  const set = asSet(granted);
  if (set.has(needed) || set.has(EVERYTHING)) return true;
  const { resource, action } = splitPermission(needed);
  return set.has(`${resource}:*` as Permission) || set.has(`*:${action}` as Permission);
}

/**
 * Returns the permissions a user may not grant to others, each once; empty means all may be granted.
 * Granting a wildcard requires `*:*`, because a wildcard also covers what is added to the vocabulary later.
 * @param granted  what the user has
 * @param needed  what the user wants to grant
 */
export function missingPermissions(granted: Iterable<Permission>, needed: readonly Permission[]): Permission[] {
  const set = asSet(granted);
  return [...new Set(needed)].filter((permission) =>
    isWildcard(permission) ? !set.has(EVERYTHING) : !hasPermission(set, permission),
  );
}

function asSet(granted: Iterable<Permission>): ReadonlySet<Permission> {
  return granted instanceof Set ? (granted as ReadonlySet<Permission>) : new Set(granted);
}
