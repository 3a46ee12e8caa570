import { Controller } from '@nestjs/common';
import type { Envelope, PartnerState } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import { PartnerDirectoryRepository } from './partner-directory.repository.js';
import { TenantChangesService } from './tenant-changes.service.js';

/** Stores what key checks need to know about partners: status, and the cap on the lifetime of enrollment keys. */
@Controller()
export class PartnerDirectoryConsumer {
  constructor(
    private readonly inbox: Inbox,
    private readonly directory: PartnerDirectoryRepository,
    private readonly tenants: TenantChangesService,
  ) {}

  @OnIntegrationEvent('partner.created', 'partner.updated')
  async onPartnerChanged(event: Envelope<PartnerState>): Promise<void> {
    const { partnerId, name, status, settings, version } = event.data;
    await this.inbox.once(event, async (tx) => {
      const enrollmentMaxTtlMinutes = settings.enrollment?.maxTtlMinutes ?? null;
      await this.directory.upsert(tx, { partnerId, name, status, enrollmentMaxTtlMinutes, version: String(version) });
      if (event.type === 'partner.updated') await this.tenants.partnerChanged(tx, partnerId);
    });
  }
}
