import { Injectable } from '@nestjs/common';
import type { WebhookChanged } from '@rmm/contracts';
import { Broadcasts } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { SubscriptionIndexService } from './subscription-index.service.js';

/** Receives the broadcasts of changed webhooks, so that waiting deliveries are sent with the current settings. */
@Injectable()
export class SubscriptionFeedConsumer {
  constructor(
    private readonly broadcasts: Broadcasts,
    private readonly index: SubscriptionIndexService,
    private readonly logger: Logger,
  ) {}

  /** Resolves when the index is complete. */
  async start(): Promise<void> {
    this.broadcasts.subscribe('webhook.changed', ({ data }) => this.onChanged(data));
    await this.index.refresh();
  }

  private onChanged({ webhookId, isDeleted }: WebhookChanged): void {
    if (isDeleted) this.index.remove(webhookId);
    else
      this.index
        .refresh()
        .catch((err: unknown) =>
          this.logger.warn({ err }, 'Loading a changed webhook failed; it is loaded before the next events'),
        );
  }
}
