import { EVERYTHING, isWildcard, parsePermission, type Permission } from './permission.js';

/**
 * Does somebody with the stored pairs `held` hold `needed`? A stored `*` matches anything on its side.
 * Four set look-ups when `held` is a Set, whatever its size.
 */
export function hasPermission(held: Iterable<Permission>, needed: Permission): boolean {
  const set = asSet(held);
  if (set.has(needed) || set.has(EVERYTHING)) return true;
  const { resource, action } = parsePermission(needed);
  return set.has(`${resource}:*`) || set.has(`*:${action}`);
}

/**
 * Ceiling arithmetic: which of `needed` an actor with `held` may not grant. Empty means all may be granted.
 * Whoever grants a wildcard must hold `*:*`, since it also grants what is added to the vocabulary later.
 * @see CONTRACT.md 4.6
 */
export function missingPermissions(held: Iterable<Permission>, needed: readonly Permission[]): Permission[] {
  const set = asSet(held);
  return [...new Set(needed)].filter((permission) =>
    isWildcard(permission) ? !set.has(EVERYTHING) : !hasPermission(set, permission),
  );
}

function asSet(held: Iterable<Permission>): ReadonlySet<Permission> {
  return held instanceof Set ? (held as ReadonlySet<Permission>) : new Set(held);
}
