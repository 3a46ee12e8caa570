import { Module } from '@nestjs/common';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { SubscriptionFeedConsumer } from './subscription-feed.consumer.js';
import { SubscriptionIndexService } from './subscription-index.service.js';
import { SubscriptionsRepository } from './subscriptions.repository.js';

@Module({
  imports: [WebhooksModule],
  providers: [SubscriptionFeedConsumer, SubscriptionIndexService, SubscriptionsRepository],
  exports: [SubscriptionFeedConsumer, SubscriptionIndexService],
})
export class SubscriptionsModule {}
