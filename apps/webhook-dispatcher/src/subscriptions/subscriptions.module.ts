import { Module } from '@nestjs/common';
import { TENANT_LISTENER } from '@rmm/access';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { SubscriptionFeedConsumer } from './subscription-feed.consumer.js';
import { SubscriptionIndexService } from './subscription-index.service.js';
import { SubscriptionsRepository } from './subscriptions.repository.js';
import { TenantChangesService } from './tenant-changes.service.js';

@Module({
  imports: [WebhooksModule],
  providers: [
    SubscriptionFeedConsumer,
    SubscriptionIndexService,
    SubscriptionsRepository,
    TenantChangesService,
    { provide: TENANT_LISTENER, useExisting: TenantChangesService },
  ],
  exports: [SubscriptionFeedConsumer, SubscriptionIndexService],
})
export class SubscriptionsModule {}
