import { Controller } from '@nestjs/common';
import type { IntegrationEvent } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import { EnrollmentKeysService } from './enrollment-keys.service.js';

/** Ends the enrollment keys of a site that provisioning deletes. */
@Controller()
export class SiteDeletionsConsumer {
  constructor(
    private readonly inbox: Inbox,
    private readonly keys: EnrollmentKeysService,
  ) {}

  @OnIntegrationEvent('site.deleted')
  async siteDeleted(event: IntegrationEvent<'site.deleted'>): Promise<void> {
    const actor = event.actor ?? { type: 'system', id: null };
    await this.inbox.once(event, (tx) => this.keys.deleteOfSite(tx, event.data, actor));
  }
}
