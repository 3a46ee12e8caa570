import { Controller } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { PARTNER_CREATED, PARTNER_UPDATED, subjects, type Envelope, type PartnerState } from '@rmm/contracts';
import { Inbox } from '@rmm/messaging';
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
  @EventPattern<string>(subjects.internal('identity', PARTNER_CREATED))
  async created(@Payload() envelope: Envelope<PartnerState>): Promise<void> {
    const { partnerId, name, slug, makeFirstOrganization } = envelope.data;
    await this.inbox.once(envelope, async (tx) => {
      await this.partners.project(tx, envelope.data);
      if (!makeFirstOrganization) return;
      await this.firstOrganization.ensure(tx, { partnerId, companyName: name, partnerSlug: slug });
    });
  }

  @EventPattern<string>(subjects.internal('identity', PARTNER_UPDATED))
  async updated(@Payload() envelope: Envelope<PartnerState>): Promise<void> {
    await this.inbox.once(envelope, (tx) => this.partners.project(tx, envelope.data));
  }
}
