import { Module } from '@nestjs/common';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { SubscriptionFeed } from './subscription-feed.js';
import { SubscriptionIndex } from './subscription-index.js';
import { SubscriptionsRepository } from './subscriptions.repository.js';

@Module({
  imports: [WebhooksModule],
  providers: [SubscriptionFeed, SubscriptionIndex, SubscriptionsRepository],
  exports: [SubscriptionFeed, SubscriptionIndex],
})
export class SubscriptionsModule {}
