import { Injectable } from '@nestjs/common';
import { ErrorCode, NatsError } from 'nats';
import { randomUUID } from 'node:crypto';
import { Broadcasts, NatsLink } from '@rmm/messaging';

/** A replica that does not reply for this long is busy, and subscribed. */
const REPLY_MS = 500;

/** Returns the subject of the events that are passed to a replica, which receives them while it runs. */
export const subjectOfReplica = (replicaId: string): string => `rmm.rpc.webhook-dispatcher.replica.${replicaId}`;

/** Returns whether a request failed since nothing subscribes to its subject, which the server reports at once. */
export const isWithoutResponder = (error: unknown): boolean =>
  error instanceof NatsError && (error.code as ErrorCode) === ErrorCode.NoResponders;

/**
 * Messages between replicas: broadcasts that make them read the database at once, of which a lost one delays them to the next
 * read, and a request that shows whether one receives events.
 */
@Injectable()
export class ReplicaSignalsService {
  /** Distinguishes the signals of this process. */
  private readonly from = randomUUID();

  constructor(
    private readonly broadcasts: Broadcasts,
    private readonly link: NatsLink,
  ) {}

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

  /** Returns false when NATS says that a replica receives no events; true also when that cannot be determined. */
  async isReceiving(replicaId: string): Promise<boolean> {
    try {
      await this.link.connection.request(subjectOfReplica(replicaId), '[]', { timeout: REPLY_MS }); // an empty set of events
      return true;
    } catch (error) {
      return !isWithoutResponder(error);
    }
  }
}
