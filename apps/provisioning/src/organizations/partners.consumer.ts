import { Controller } from '@nestjs/common';
import type { IntegrationEvent } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import { FirstOrganizationService } from './first-organization.service.js';

/** Creates the first organization of a partner that signed up. */
@Controller()
export class PartnersConsumer {
  constructor(
    private readonly inbox: Inbox,
    private readonly firstOrganization: FirstOrganizationService,
  ) {}

  /** Repairs a sign-up whose RPC, which identity calls after its commit, did not arrive. */
  @OnIntegrationEvent('partner.created')
  async partnerCreated(event: IntegrationEvent<'partner.created'>): Promise<void> {
    const { partnerId, name, slug, timezone, createFirstOrganization } = event.data;
    if (!createFirstOrganization) return;
    const starting = { partnerId, companyName: name, partnerSlug: slug, timezone };
    await this.inbox.once(event, (tx) => this.firstOrganization.ensure(tx, starting), 'first-organization');
  }
}
