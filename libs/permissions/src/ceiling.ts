import { EVERYTHING } from './permission.js';
import type { Permission } from './vocabulary.js';

/** Checks whether the granted permissions include the needed one; `*:*` includes every one. */
export function hasPermission(granted: Iterable<Permission>, needed: Permission): boolean {
  const set = asSet(granted);
  return set.has(needed) || set.has(EVERYTHING);
}

/**
 * Returns the permissions a user may not grant to others, each once; empty means all may be granted.
 * Granting `*:*` requires it, because it also covers what is added to the vocabulary later.
 * @param granted  what the user has
 * @param needed  what the user wants to grant
 */
export function missingPermissions(granted: Iterable<Permission>, needed: readonly Permission[]): Permission[] {
  const set = asSet(granted);
  return [...new Set(needed)].filter((permission) => !hasPermission(set, permission));
}

function asSet(granted: Iterable<Permission>): ReadonlySet<Permission> {
  return granted instanceof Set ? (granted as ReadonlySet<Permission>) : new Set(granted);
}
