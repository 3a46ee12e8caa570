import type { UserCaller } from '@rmm/access';
import { missingPermissions, type Permission } from '@rmm/permissions';
import { PermissionNotDelegable } from './role.errors.js';

/**
 * Checks that the caller has every one of these permissions itself; wildcards need `*:*`. Required to grant them, and to
 * change a user or an invitation that has them.
 * @throws PermissionNotDelegable
 * @see docs/reference/users-and-roles.md
 */
export function assertCanGrant(caller: UserCaller, permissions: readonly Permission[]): void {
  if (missingPermissions(caller.permissions, permissions).length > 0) throw new PermissionNotDelegable();
}
