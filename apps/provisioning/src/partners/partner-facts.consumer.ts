import { Controller } from '@nestjs/common';
import { type Envelope, type PartnerState } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import { FirstOrganization } from '../organizations/first-organization.js';
import { PartnersRepository } from './partners.repository.js';

/** Follows identity's partners. */
@Controller()
export class PartnerFactsConsumer {
  constructor(
    private readonly inbox: Inbox,
    private readonly partners: PartnersRepository,
    private readonly firstOrganization: FirstOrganization,
  ) {}

  /** Sign-up also asks for the first organization: the fallback of the RPC that identity makes after its commit. */
  @OnIntegrationEvent('partner.created')
  async created(envelope: Envelope<PartnerState>): Promise<void> {
    const { partnerId, name, slug, createFirstOrganization } = envelope.data;
    await this.inbox.once(envelope, async (tx) => {
      await this.partners.project(tx, envelope.data);
      if (!createFirstOrganization) return;
      await this.firstOrganization.ensure(tx, { partnerId, companyName: name, partnerSlug: slug });
    });
  }

  @OnIntegrationEvent('partner.updated')
  async updated(envelope: Envelope<PartnerState>): Promise<void> {
    await this.inbox.once(envelope, (tx) => this.partners.project(tx, envelope.data));
  }
}
