import { Injectable } from '@nestjs/common';
import { type ChangedTenants, OrganizationDirectory, PartnerDirectory, type TenantListener } from '@rmm/access';
import type { OutboxTransaction } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { SubscriptionIndexService } from './subscription-index.service.js';

/** Stops the deliveries of a tenant as soon as its status changes, and starts them again. */
@Injectable()
export class TenantChangesService implements TenantListener {
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly organizations: OrganizationDirectory,
    private readonly partners: PartnerDirectory,
    private readonly index: SubscriptionIndexService,
    private readonly logger: Logger,
  ) {}

  tenantsStored(tx: OutboxTransaction): Promise<void> {
    tx.afterCommit(() => this.refresh({}));
    return Promise.resolve();
  }

  /** Reads the tenants from their owners, which stores them, since the event with their state has not arrived yet. */
  tenantsOutdated(tenants: ChangedTenants): void {
    this.refresh(tenants);
  }

  /** One after the other: a change of many tenants is several broadcasts. */
  private refresh({ partnerIds = [], orgIds = [] }: ChangedTenants): void {
    const work = async () => {
      for (const id of partnerIds) await this.partners.find(id);
      for (const id of orgIds) if (this.index.hasWebhooks(id)) await this.organizations.find(id);
      await this.index.refreshTenants();
    };
    this.running = this.running
      .then(work)
      .catch((err: unknown) =>
        this.logger.warn({ err }, 'Changed tenants could not be read; they are read again within seconds'),
      );
  }
}
