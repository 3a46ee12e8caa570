import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { SubscriptionIndexService } from './subscription-index.service.js';

/** Keeps the index up to date with changes for which there is no event and no changed row. */
@Injectable()
export class MaintainIndexJob {
  constructor(private readonly index: SubscriptionIndexService) {}

  @Job({ name: 'refresh-webhooks', everyMs: 5_000 })
  async refresh(): Promise<void> {
    await this.index.refresh();
    await this.index.refreshOrganizations();
  }

  @Job({ name: 'remove-deleted-webhooks', everyMs: 60_000 })
  async removeDeleted(): Promise<void> {
    this.index.reopenBroken();
    await this.index.removeDeleted();
  }
}
