import { Inject, Injectable } from '@nestjs/common';
import type { OutboxTransaction } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { RateLimitedError, RateLimits } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { emailBucket } from '../limits.js';
import { MailService } from '../mail/mail.service.js';
import type { User, UserStatus } from '../users/user.js';
import { InvitationsRepository, type InvitationLink } from './invitations.repository.js';

/** A new link, with the URL that contains its token. */
export interface MintedLink extends InvitationLink {
  url: string;
}

export interface InvitationMail {
  email: string;
  name: string;
  tenantName: string;
  /** Status of the account: an invited one chooses a password, an active one signs in, a disabled one gets no mail. */
  status: UserStatus;
}

/** Creates and mails links of invitations. A link is returned only where no mail can be sent. */
@Injectable()
export class InvitationLinksService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly invitations: InvitationsRepository,
    private readonly mail: MailService,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** True when this installation mails links; else the inviting users pass them on. */
  get canMail(): boolean {
    return this.mail.canSend;
  }

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

  mint(): MintedLink {
    const { key, keyHash } = mintLinkToken();
    const url = `${this.config.publicAppUrl}/accept-invite?token=${key}`;
    return { tokenHash: keyHash, mailed: this.canMail, url };
  }

  /**
   * Counts a mail to an address; outside of transactions.
   * @returns false when the mailbox has had its mails of the day
   */
  async mayMail(email: string): Promise<boolean> {
    if (!this.canMail) return true;
    try {
      await this.limits.hit(this.config.limits.inviteAddress, emailBucket(email));
      return true;
    } catch (error) {
      if (error instanceof RateLimitedError) return false;
      throw error;
    }
  }

  /** Mails a link in the transaction that stores it. */
  async send(tx: OutboxTransaction, { email, name, tenantName, status }: InvitationMail, url: string): Promise<void> {
    if (status === 'disabled') return;
    const template = status === 'invited' ? 'invite' : 'invite-member';
    await this.mail.add(tx, { to: email, template, values: { name, tenantName, url } });
  }

  /**
   * Mails an invited user without a password the link of its newest invitation, which then is the only valid one of that
   * invitation. Does nothing for a user without an invitation: such an address can register.
   */
  async sendActivation({ id, email, status }: User): Promise<void> {
    if (!this.canMail) return;
    await this.worker.transaction(async (tx) => {
      const [invitation] = await this.invitations.listOfUser(tx, id);
      if (!invitation) return;
      const { url, ...link } = this.mint();
      await this.invitations.replaceLink(tx, invitation, id, link);
      const tenantName = invitation.orgName ?? invitation.partnerName ?? '';
      await this.send(tx, { email, name: invitation.name, tenantName, status }, url);
    });
  }
}
