import { Controller } from '@nestjs/common';
import { type Envelope, type OrganizationSecurityState } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import { OrganizationSecurityRepository } from './organization-security.repository.js';

/** Follows the security policies that identity keeps of organizations. */
@Controller()
export class OrganizationSecurityConsumer {
  constructor(
    private readonly inbox: Inbox,
    private readonly copies: OrganizationSecurityRepository,
  ) {}

  @OnIntegrationEvent('organization.security_policy_updated')
  async updated(envelope: Envelope<OrganizationSecurityState>): Promise<void> {
    await this.inbox.once(envelope, (tx) => this.copies.project(tx, envelope.data));
  }
}
