import { Inject, Injectable } from '@nestjs/common';
import type { OutboxTransaction } from '@rmm/messaging';
import { mintLinkToken } from '@rmm/secrets';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailOutbox } from '../mail/mail-outbox.service.js';
import type { MemberScope } from '../members/member-scope.service.js';
import type { AccountSummary } from '../users/users.repository.js';
import type { InviteDeliveryDto } from './dto/invitation.dto.js';
import { InvitationsRepository } from './invitations.repository.js';

const NO_MAIL = 'Mail is not configured: pass the invitation link on yourself.';

/** Notifies invited users. */
@Injectable()
export class InvitationDeliveryService {
  constructor(
    private readonly invitations: InvitationsRepository,
    private readonly mail: MailOutbox,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Sends an invited user a new link, and an active user a note about the membership, which needs no acceptance. The
   * link is returned only when no mail can be sent.
   */
  async deliver(
    tx: OutboxTransaction,
    account: AccountSummary,
    scope: MemberScope,
    tenantName: string,
  ): Promise<InviteDeliveryDto> {
    const { id, email: to, name, status } = account;
    const values = { name, tenantName };
    if (status === 'invited') {
      const { key, keyHash } = mintLinkToken();
      await this.invitations.replaceToken(tx, id, keyHash, scope);
      const inviteUrl = `${this.config.publicAppUrl}/accept-invite?token=${key}`;
      await this.mail.add(tx, { to, template: 'invite', values: { ...values, url: inviteUrl } });
      return this.mail.canSend ? { inviteEmailSent: true } : { inviteEmailSent: false, inviteUrl, warning: NO_MAIL };
    }
    if (status === 'active') await this.mail.add(tx, { to, template: 'membership-added', values });
    return { inviteEmailSent: status === 'active' && this.mail.canSend };
  }
}
