import { Injectable } from '@nestjs/common';
import { AuditTrail, type AuditedCaller } from '@rmm/messaging';
import { tenantOf, type MemberScope } from '../members/member-scope.service.js';
import type { Transaction } from '../transaction.js';
import type { AccountSummary } from '../users/users.repository.js';
import { InvitationLinksService } from './invitation-links.service.js';
import { UserAlreadyExists } from './invitation.errors.js';
import { InvitationsRepository, type LockedInvitation, type NewInvitation } from './invitations.repository.js';

/** The partner or organization of an invitation, and its name in mails. */
export interface InvitingTenant {
  scope: MemberScope;
  tenantName: string;
}

export type Invitation = NewInvitation & InvitingTenant;

/** A stored link and its delivery. */
export interface SentLink {
  userId: string;
  inviteEmailSent: boolean;
  /** Set where no mail can be sent; who may receive it is decided after the commit. */
  url: string | null;
}

/** Stores and mails invitations within a transaction of the caller's use case. */
@Injectable()
export class InvitationSenderService {
  constructor(
    private readonly invitations: InvitationsRepository,
    private readonly links: InvitationLinksService,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Invites a user, who becomes a member on acceptance and not before.
   * @param existing the account of the e-mail address
   * @param mayMail  false when the mailbox had enough mails: the link is then not sent, and the response is the same
   * @throws UserAlreadyExists
   */
  async invite(
    tx: Transaction,
    caller: AuditedCaller,
    existing: AccountSummary | null,
    { tenantName, ...invitation }: Invitation,
    mayMail: boolean,
  ): Promise<SentLink> {
    const { scope, email, name, roleId } = invitation;
    const { url, ...link } = this.links.mint();
    const userId = await this.invitations.open(tx, existing, invitation, link);
    if (!userId) throw new UserAlreadyExists();
    const status = existing?.status ?? 'invited';
    if (mayMail) await this.links.send(tx, { email, name, tenantName, status }, url);
    const sent = this.sentLink(userId, status !== 'disabled', url);
    const resource = { type: 'user', id: userId, name: email, ...tenantOf(scope) };
    await this.audit.record(tx, caller, 'user.invite', resource, { roleId, inviteEmailSent: sent.inviteEmailSent });
    return sent;
  }

  /**
   * Sends a new link; the previous one becomes invalid.
   * @param mayMail  false when the mailbox had enough mails: the previous link then stays valid, and the answer is the same
   */
  async resend(
    tx: Transaction,
    caller: AuditedCaller,
    { userId, email, name }: LockedInvitation,
    { scope, tenantName }: InvitingTenant,
    { status, mayMail }: { status: AccountSummary['status']; mayMail: boolean },
  ): Promise<SentLink> {
    const { url, ...link } = this.links.mint();
    if (mayMail) {
      await this.invitations.replaceLink(tx, tenantOf(scope), userId, link);
      await this.links.send(tx, { email, name, tenantName, status }, url);
    }
    const sent = this.sentLink(userId, status !== 'disabled', url);
    const resource = { type: 'user', id: userId, name: email, ...tenantOf(scope) };
    await this.audit.record(tx, caller, 'user.invite.resend', resource, { inviteEmailSent: sent.inviteEmailSent });
    return sent;
  }

  private sentLink(userId: string, receivesMail: boolean, url: string): SentLink {
    const { canMail } = this.links;
    return { userId, inviteEmailSent: canMail && receivesMail, url: canMail ? null : url };
  }
}
