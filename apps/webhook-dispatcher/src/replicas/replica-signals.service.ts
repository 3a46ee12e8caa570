import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { Broadcasts } from '@rmm/messaging';

/** Broadcasts between replicas that make them read the database at once. A lost one delays them to the next read. */
@Injectable()
export class ReplicaSignalsService {
  /** Distinguishes the signals of this process. */
  private readonly from = randomUUID();

  constructor(private readonly broadcasts: Broadcasts) {}

  onPartitionsChanged(handle: () => void): void {
    this.broadcasts.subscribe('webhook.partitions', ({ data }) => {
      if (data.from !== this.from) handle();
    });
  }

  onDeliveriesDue(handle: (webhookId: string) => void): void {
    this.broadcasts.subscribe('webhook.due', ({ data }) => {
      if (data.from !== this.from) handle(data.webhookId);
    });
  }

  publishPartitionsChanged(): void {
    this.broadcasts.publishNow('webhook.partitions', { from: this.from });
  }

  publishDeliveriesDue(webhookId: string): void {
    this.broadcasts.publishNow('webhook.due', { from: this.from, webhookId });
  }
}
