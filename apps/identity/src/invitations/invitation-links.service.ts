import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, Outbox, type AuditedCaller, type OutboxTransaction } from '@rmm/messaging';
import { isUniqueViolation, WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { mintLinkToken } from '@rmm/secrets';
import { RateLimitedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { emailBucket } from '../limits.js';
import { MailService } from '../mail/mail.service.js';
import { tenantOf, type MemberScope } from '../members/member-scope.service.js';
import { RolesRepository } from '../roles/roles.repository.js';
import type { Transaction } from '../transaction.js';
import type { User, UserStatus } from '../users/user.types.js';
import type { AccountSummary } from '../users/users.repository.js';
import type { InviteDeliveryDto } from './dto/invitation.dto.js';
import { mayReceiveLink } from './invitation-link.policy.js';
import { UserAlreadyExists } from './invitation.errors.js';
import {
  InvitationsRepository,
  type InvitationLink,
  type LockedInvitation,
  type NewInvitation,
} from './invitations.repository.js';

const NO_MAIL = 'Mail is not configured: pass the invitation link on yourself.';
const NO_LINK = 'Mail is not configured, and the account is not yours alone: the user cannot be invited by link.';

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

/** A new link, with the URL that contains its token. */
type MintedLink = InvitationLink & { url: string };

interface InvitationMail {
  email: string;
  name: string;
  tenantName: string;
  /** Status of the account: an invited one chooses a password, an active one signs in, a disabled one gets no mail. */
  status: UserStatus;
}

/**
 * Stores invitations with their links and mails them, within a transaction of the use case. A link is returned only
 * where no mail can be sent. @see docs/reference/users-and-roles.md
 */
@Injectable()
export class InvitationLinksService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly invitations: InvitationsRepository,
    private readonly roles: RolesRepository,
    private readonly mail: MailService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws RateLimitedError for a caller with too many invitations */
  countInvite(callerId: string): Promise<void> {
    return this.limits.hit(this.config.limits.invite, callerId);
  }

  /** @throws RateLimitedError for a client with too many attempts */
  countAcceptance(client: string): Promise<void> {
    return this.limits.hit(this.config.limits.acceptInvite, client);
  }

  /** @throws RateLimitedError for a client with too many previews */
  countPreview(client: string): Promise<void> {
    return this.limits.hit(this.config.limits.previewInvite, client);
  }

  /**
   * Counts a mail to an address; outside of transactions.
   * @returns false when the mailbox has had its mails of the day
   */
  async mayMail(email: string): Promise<boolean> {
    if (!this.mail.canSend) return true;
    try {
      await this.limits.hit(this.config.limits.inviteAddress, emailBucket(email));
      return true;
    } catch (error) {
      if (error instanceof RateLimitedError) return false;
      throw error;
    }
  }

  /**
   * Finds the account of an e-mail address and runs `work`, once more when another invitation creates the account
   * meanwhile.
   */
  async withAccount<T>(email: string, work: (account: AccountSummary | null) => Promise<T>): Promise<T> {
    try {
      return await work(await this.invitations.findAccount(email));
    } catch (error) {
      if (!isUniqueViolation(error, 'user_account_email_key')) throw error;
      return work(await this.invitations.findAccount(email));
    }
  }

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
    const { url, ...link } = this.mint();
    const userId = await this.invitations.open(tx, existing, invitation, link);
    if (!userId) throw new UserAlreadyExists();
    const status = existing?.status ?? 'invited';
    if (mayMail) await this.send(tx, { email, name, tenantName, status }, url);
    const sent = this.sentLink(userId, status !== 'disabled', url);
    const resource = { type: 'user', id: userId, name: email, ...tenantOf(scope) };
    await this.audit.record(tx, caller, 'user.invite', resource, { roleId, inviteEmailSent: sent.inviteEmailSent });
    await this.publishInvited(tx, caller, userId, invitation);
    return sent;
  }

  /**
   * Sends a new link; the previous one becomes invalid.
   * @param mayMail  false when the mailbox had enough mails: the previous link then stays valid, and the response is the same
   */
  async resend(
    tx: Transaction,
    caller: AuditedCaller,
    { userId, email, name }: LockedInvitation,
    { scope, tenantName }: InvitingTenant,
    { status, mayMail }: { status: AccountSummary['status']; mayMail: boolean },
  ): Promise<SentLink> {
    const { url, ...link } = this.mint();
    if (mayMail) {
      await this.invitations.replaceLink(tx, tenantOf(scope), userId, link);
      await this.send(tx, { email, name, tenantName, status }, url);
    }
    const sent = this.sentLink(userId, status !== 'disabled', url);
    const resource = { type: 'user', id: userId, name: email, ...tenantOf(scope) };
    await this.audit.record(tx, caller, 'user.invite.resend', resource, { inviteEmailSent: sent.inviteEmailSent });
    return sent;
  }

  /**
   * Returns the delivery as the inviting user sees it. After the commit of the invitation, so that of two tenants that
   * invite at the same time at least one sees the other.
   */
  async toDelivery(caller: UserCaller, { userId, inviteEmailSent, url }: SentLink): Promise<InviteDeliveryDto> {
    if (url === null) return { inviteEmailSent };
    return (await this.mayReceive(caller, userId))
      ? { inviteEmailSent, inviteUrl: url, warning: NO_MAIL }
      : { inviteEmailSent, warning: NO_LINK };
  }

  /**
   * Mails an invited user without a password the link of its newest invitation, which then is the only valid one of that
   * invitation. Does nothing for a user without an invitation: such an address can register.
   */
  async sendActivation({ id, email, status }: User): Promise<void> {
    if (!this.mail.canSend) return;
    await this.worker.transaction(async (tx) => {
      const [invitation] = await this.invitations.listOfUser(tx, id);
      if (!invitation) return;
      const { url, ...link } = this.mint();
      await this.invitations.replaceLink(tx, invitation, id, link);
      const tenantName = invitation.orgName ?? invitation.partnerName ?? '';
      await this.send(tx, { email, name: invitation.name, tenantName, status }, url);
    });
  }

  /** Publishes `user.invited` of an invitation to an organization: domain events belong to organizations. */
  private async publishInvited(
    tx: Transaction,
    { actor }: AuditedCaller,
    userId: string,
    { scope, email, name, roleId, invitedBy }: NewInvitation,
  ): Promise<void> {
    if (scope.kind === 'partner') return;
    const { partnerId, orgId } = scope;
    const data = { userId, email, name, roleId, invitedBy };
    const owner = { aggregateId: userId, partnerId, orgId };
    await this.outbox.publish(tx, { stream: 'events', type: 'user.invited', ...owner, actor, data });
  }

  private async mayReceive(caller: UserCaller, userId: string): Promise<boolean> {
    const user = await this.invitations.findUser(this.worker, userId);
    if (!user) return false;
    const invitations = await this.invitations.listOfUser(this.worker, userId);
    const roleIds = [...user.memberships, ...invitations].map(({ roleId }) => roleId);
    const permissions = await this.roles.listPermissions(this.worker, roleIds);
    return mayReceiveLink(caller, { user, invitations, permissions });
  }

  private mint(): MintedLink {
    const { key, keyHash } = mintLinkToken();
    const url = `${this.config.publicAppUrl}/accept-invite?token=${key}`;
    return { tokenHash: keyHash, mailed: this.mail.canSend, url };
  }

  /** Mails a link in the transaction that stores it. */
  private async send(
    tx: OutboxTransaction,
    { email, name, tenantName, status }: InvitationMail,
    url: string,
  ): Promise<void> {
    if (status === 'disabled') return;
    const template = status === 'invited' ? 'invite' : 'invite-member';
    // The owner of the address may know whether it has an account; the page then asks for its password.
    const link = status === 'invited' ? url : `${url}&account=existing`;
    await this.mail.add(tx, { to: email, template, values: { name, tenantName, url: link } });
  }

  private sentLink(userId: string, receivesMail: boolean, url: string): SentLink {
    const { canSend } = this.mail;
    return { userId, inviteEmailSent: canSend && receivesMail, url: canSend ? null : url };
  }
}
