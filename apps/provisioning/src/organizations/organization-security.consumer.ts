import { Controller } from '@nestjs/common';
import type { IntegrationEvent } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import { OrganizationSecurityRepository } from './organization-security.repository.js';

/** Stores the security policies that identity publishes. */
@Controller()
export class OrganizationSecurityConsumer {
  constructor(
    private readonly inbox: Inbox,
    private readonly policies: OrganizationSecurityRepository,
  ) {}

  @OnIntegrationEvent('organization.security_policy_updated')
  async policyUpdated(event: IntegrationEvent<'organization.security_policy_updated'>): Promise<void> {
    await this.inbox.once(event, (tx) => this.policies.save(tx, event.data));
  }
}
