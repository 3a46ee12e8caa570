import type { UserCaller } from '@rmm/access';
import { missingPermissions, type Permission } from '@rmm/permissions';
import { canAccessMembership } from '../members/membership-access.policy.js';
import { isWithinSites } from '../members/site-restriction.js';
import type { User } from '../users/user.types.js';
import type { PendingMembership } from './invitations.repository.js';

/** The account that a link invites, with everything it may act as. */
export interface InvitedAccount {
  user: Pick<User, 'status' | 'passwordHash' | 'memberships'>;
  /** Every open invitation, the one of the link included. */
  invitations: readonly PendingMembership[];
  /** Permissions of all roles of memberships and invitations. */
  permissions: readonly Permission[];
}

/**
 * Decides whether a caller may receive a link that cannot be mailed. Its holder chooses the password of a new account,
 * which then is the key to every membership of the account: the caller has to administer all of them, open invitations
 * included, and have all of their permissions.
 */
export function mayReceiveLink(caller: UserCaller, { user, invitations, permissions }: InvitedAccount): boolean {
  // An account that was active before has a password, perhaps a factor, that a link in other hands would replace.
  if (user.status === 'invited' && user.passwordHash !== null) return false;
  return (
    [...user.memberships, ...invitations].every((membership) => canAccessMembership(caller, membership)) &&
    invitations.every((invitation) => isWithinSites(caller, invitation)) &&
    missingPermissions(caller.permissions, permissions).length === 0
  );
}
