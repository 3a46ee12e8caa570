import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { ForbiddenError } from '@rmm/service-kit';
import { canAccessMembership } from '../members/membership-access.policy.js';
import { isWithinSites } from '../members/site-restriction.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { InviteDeliveryDto } from './dto/invitation.dto.js';
import type { SentLink } from './invitation-sender.service.js';
import { InvitationsRepository } from './invitations.repository.js';

const NO_MAIL = 'Mail is not configured: pass the invitation link on yourself.';
const NO_LINK = 'Mail is not configured, and the account is not yours alone: the user cannot be invited by link.';

/**
 * Decides who may receive the link of an invitation that cannot be mailed. Its holder chooses the password of a new
 * account, which then is the key to every membership of the account.
 */
@Injectable()
export class InvitationLinkPolicy {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly invitations: InvitationsRepository,
    private readonly grants: RoleGrantPolicy,
  ) {}

  /**
   * Returns true when the caller administers every membership of the account, open invitations included, and has all of
   * their permissions. After the commit of the invitation, so that of two tenants that invite at the same time at least
   * one sees the other.
   */
  async mayReceive(caller: UserCaller, userId: string): Promise<boolean> {
    const user = await this.invitations.findUser(this.worker, userId);
    // An account that was active before has a password, perhaps a factor, that a link in other hands would replace.
    if (!user || (user.status === 'invited' && user.passwordHash !== null)) return false;
    const invitations = await this.invitations.listOfUser(this.worker, userId);
    const all = [...user.memberships, ...invitations];
    if (!all.every((membership) => canAccessMembership(caller, membership))) return false;
    if (!invitations.every((invitation) => isWithinSites(caller, invitation))) return false;
    return this.worker.transaction(async (tx) => {
      try {
        await this.grants.assertHasPermissionsOf(
          tx,
          caller,
          all.map(({ roleId }) => roleId),
        );
        return true;
      } catch (error) {
        if (error instanceof ForbiddenError) return false;
        throw error;
      }
    });
  }

  /** Returns the delivery as the inviting user sees it, after the commit of the invitation. */
  async toDelivery(caller: UserCaller, { userId, inviteEmailSent, url }: SentLink): Promise<InviteDeliveryDto> {
    if (url === null) return { inviteEmailSent };
    return (await this.mayReceive(caller, userId))
      ? { inviteEmailSent, inviteUrl: url, warning: NO_MAIL }
      : { inviteEmailSent, warning: NO_LINK };
  }
}
