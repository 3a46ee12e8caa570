import { Controller } from '@nestjs/common';
import type { IntegrationEvent } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import { PartnersRepository } from '../partners/partners.repository.js';
import { FirstOrganizationService } from './first-organization.service.js';

/** Stores the partners that identity publishes, and creates the first organization of a new one. */
@Controller()
export class PartnersConsumer {
  constructor(
    private readonly inbox: Inbox,
    private readonly partners: PartnersRepository,
    private readonly firstOrganization: FirstOrganizationService,
  ) {}

  /** Creates the first organization when the RPC that identity calls after its commit did not arrive. */
  @OnIntegrationEvent('partner.created')
  async partnerCreated(event: IntegrationEvent<'partner.created'>): Promise<void> {
    const { partnerId, name, slug, createFirstOrganization } = event.data;
    await this.inbox.once(event, async (tx) => {
      await this.partners.save(tx, event.data);
      if (!createFirstOrganization) return;
      await this.firstOrganization.ensure(tx, { partnerId, companyName: name, partnerSlug: slug });
    });
  }

  @OnIntegrationEvent('partner.updated')
  async partnerUpdated(event: IntegrationEvent<'partner.updated'>): Promise<void> {
    await this.inbox.once(event, (tx) => this.partners.save(tx, event.data));
  }
}
