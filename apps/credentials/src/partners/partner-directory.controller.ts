import { Controller } from '@nestjs/common';
import type { Envelope, PartnerState } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import { TenantChanges } from './tenant-changes.js';

/** Keeps what key checks need to know of partners: status, and the cap on enrollment keys. */
@Controller()
export class PartnerDirectoryController {
  constructor(
    private readonly inbox: Inbox,
    private readonly tenants: TenantChanges,
  ) {}

  @OnIntegrationEvent('partner.created', 'partner.updated')
  async partnerChanged(fact: Envelope<PartnerState>): Promise<void> {
    const { partnerId, name, status, settings, version } = fact.data;
    await this.inbox.once(fact, async (tx) => {
      await tx.query(
        `INSERT INTO partner_directory (partner_id, name, status, enrollment_max_ttl_minutes, version)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (partner_id) DO UPDATE SET name = excluded.name, status = excluded.status,
           enrollment_max_ttl_minutes = excluded.enrollment_max_ttl_minutes, version = excluded.version
         WHERE partner_directory.version < excluded.version`,
        [partnerId, name, status, settings.enrollment?.maxTtlMinutes ?? null, version],
      );
      if (fact.type === 'partner.updated') await this.tenants.partnerChanged(tx, partnerId);
    });
  }
}
