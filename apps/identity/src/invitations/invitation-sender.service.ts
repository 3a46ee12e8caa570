import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail, type AuditedCaller, type OutboxTransaction } from '@rmm/messaging';
import { mintLinkToken } from '@rmm/secrets';
import { AccessChangesService } from '../access/access-changes.service.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailService } from '../mail/mail.service.js';
import { tenantOf, type MemberScope } from '../members/member-scope.service.js';
import type { Transaction } from '../transaction.js';
import type { AccountSummary } from '../users/users.repository.js';
import type { InviteDeliveryDto } from './dto/invitation.dto.js';
import { UserAlreadyExists } from './invitation.errors.js';
import { InvitationsRepository, type InvitedMember } from './invitations.repository.js';

/** The partner or organization of an invitation, and its name in mails. */
export interface InvitingTenant {
  scope: MemberScope;
  tenantName: string;
}

export type Invitation = InvitedMember & InvitingTenant;

const NO_MAIL = 'Mail is not configured: pass the invitation link on yourself.';

/** Sends invitations within a transaction of the caller's use case. */
@Injectable()
export class InvitationSenderService {
  constructor(
    private readonly invitations: InvitationsRepository,
    private readonly mail: MailService,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Adds a member and notifies it.
   * @param existing the account of the e-mail address
   * @throws UserAlreadyExists
   */
  async invite(
    tx: Transaction,
    caller: AuditedCaller,
    existing: AccountSummary | null,
    { tenantName, ...member }: Invitation,
  ): Promise<{ account: AccountSummary; delivery: InviteDeliveryDto }> {
    const { scope, email, roleId } = member;
    const account = await this.invitations.addMember(tx, existing, member);
    if (!account) throw new UserAlreadyExists();
    const delivery = await this.deliver(tx, account, { scope, tenantName });
    await this.accessChanges.publish(tx, { userIds: [account.id], reason: 'membership_added' });
    const resource = { type: 'user', id: account.id, name: email, ...tenantOf(scope) };
    await this.audit.record(tx, caller, 'user.invite', resource, { roleId, inviteEmailSent: delivery.inviteEmailSent });
    return { account, delivery };
  }

  /** Sends a new link; the previous one becomes invalid. */
  async resend(
    tx: OutboxTransaction,
    caller: AuditedCaller,
    account: AccountSummary,
    tenant: InvitingTenant,
  ): Promise<InviteDeliveryDto> {
    const delivery = await this.deliver(tx, account, tenant);
    const resource = { type: 'user', id: account.id, name: account.email, ...tenantOf(tenant.scope) };
    const details = { inviteEmailSent: delivery.inviteEmailSent };
    await this.audit.record(tx, caller, 'user.invite.resend', resource, details);
    return delivery;
  }

  /**
   * Mails an invited user a link, and an active user a note about the membership, which needs no acceptance. The link
   * is returned only when no mail can be sent.
   */
  private async deliver(
    tx: OutboxTransaction,
    { id, email: to, name, status }: AccountSummary,
    { scope, tenantName }: InvitingTenant,
  ): Promise<InviteDeliveryDto> {
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
