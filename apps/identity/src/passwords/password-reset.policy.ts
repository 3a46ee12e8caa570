import { tenantIsActive, type User } from '../users/user.types.js';

/**
 * Returns true when the user could sign in with a password. An account without one signs in by other means: access to
 * the mailbox alone must not add a second way.
 */
export const canResetPassword = ({ status, passwordHash, memberships }: User): boolean =>
  status === 'active' &&
  passwordHash !== null &&
  memberships.some((membership) => tenantIsActive(membership) && !membership.ssoEnforced);
