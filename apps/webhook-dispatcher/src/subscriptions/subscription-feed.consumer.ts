import { Injectable } from '@nestjs/common';
import type { WebhookChanged } from '@rmm/contracts';
import { Broadcasts } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { SubscriptionIndexService } from './subscription-index.service.js';

/** Hears of changed webhooks from every replica, so that waiting deliveries meet the webhook as it is now. */
@Injectable()
export class SubscriptionFeedConsumer {
  constructor(
    private readonly broadcasts: Broadcasts,
    private readonly index: SubscriptionIndexService,
    private readonly logger: Logger,
  ) {}

  /** Ends when the index is filled. */
  async start(): Promise<void> {
    this.broadcasts.subscribe('webhook.changed', ({ data }) => this.changed(data));
    await this.index.refresh();
  }

  private changed({ webhookId, isDeleted }: WebhookChanged): void {
    if (isDeleted) this.index.forget(webhookId);
    else this.index.refresh().catch((err: unknown) => this.logger.warn({ err }, 'A changed webhook is not loaded yet'));
  }
}
