import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail, type AuditedCaller, type OutboxTransaction } from '@rmm/messaging';
import { mintLinkToken } from '@rmm/secrets';
import { AccessChanges } from '../access/access-changes.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import type { InviteDeliveryDto } from './invite.dto.js';
import { UserAlreadyExists } from './invites.errors.js';
import { tenantOf } from './memberships.repository.js';
import { InvitesRepository, type InvitedAccount, type NewMembership } from './invites.repository.js';

export interface Invitation extends Omit<NewMembership, 'userId'> {
  email: string;
  name: string;
  /** What the mail calls the tenant. */
  tenantName: string;
}

const NO_MAIL = 'Mail is not configured: hand the invitation link over yourself.';

/** Makes somebody a member of a tenant: account where the address has none, membership, mail. Under the worker login. */
@Injectable()
export class Inviter {
  constructor(
    private readonly repository: InvitesRepository,
    private readonly mail: MailOutbox,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws UserAlreadyExists 409 */
  async invite(
    tx: OutboxTransaction,
    caller: AuditedCaller,
    invitation: Invitation,
  ): Promise<{ account: InvitedAccount; delivery: InviteDeliveryDto }> {
    const { axis, email, name, roleId } = invitation;
    const account = await this.repository.ensureAccount(tx, email, name);
    const joined = await this.repository.insertMembership(tx, { ...invitation, userId: account.id });
    if (!joined) throw new UserAlreadyExists();
    const delivery = await this.tell(tx, account, invitation);
    await this.access.announce(tx, { userIds: [account.id], reason: 'membership_added' });
    const resource = { type: 'user', id: account.id, name: email, ...tenantOf(axis) };
    await this.audit.record(tx, caller, 'user.invite', resource, { roleId, inviteEmailSent: delivery.inviteEmailSent });
    return { account, delivery };
  }

  /** A new link for somebody who has not accepted yet; the older one dies. */
  async resend(
    tx: OutboxTransaction,
    caller: AuditedCaller,
    account: InvitedAccount,
    { axis, tenantName }: Pick<Invitation, 'axis' | 'tenantName'>,
  ): Promise<InviteDeliveryDto> {
    const delivery = await this.tell(tx, account, { axis, tenantName });
    const resource = { type: 'user', id: account.id, name: account.email, ...tenantOf(axis) };
    const details = { inviteEmailSent: delivery.inviteEmailSent };
    await this.audit.record(tx, caller, 'user.invite.resend', resource, details);
    return delivery;
  }

  /** Who has an active account needs no link: the membership is there. */
  private async tell(
    tx: OutboxTransaction,
    account: InvitedAccount,
    { axis, tenantName }: Pick<Invitation, 'axis' | 'tenantName'>,
  ): Promise<InviteDeliveryDto> {
    const values = { name: account.name, tenantName };
    if (account.status !== 'invited') {
      if (account.status === 'active') {
        await this.mail.add(tx, { to: account.email, template: 'membership-added', values });
      }
      return { inviteEmailSent: account.status === 'active' && this.mail.canSend };
    }
    const { key, keyHash } = mintLinkToken();
    await this.repository.replaceToken(tx, account.id, keyHash, axis);
    const inviteUrl = `${this.config.publicAppUrl}/accept-invite?token=${key}`;
    await this.mail.add(tx, { to: account.email, template: 'invite', values: { ...values, url: inviteUrl } });
    return this.mail.canSend ? { inviteEmailSent: true } : { inviteEmailSent: false, inviteUrl, warning: NO_MAIL };
  }
}
