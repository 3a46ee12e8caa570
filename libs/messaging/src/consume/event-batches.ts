import type { Envelope, StreamKind } from '@rmm/contracts';
import type { NatsLink } from '../connection/nats-link.js';
import type { MessagingMetrics } from '../messaging-metrics.js';
import { BatchLoop } from './batch-loop.js';
import { Deliveries, type DeliveryPolicy } from './delivery.js';
import type { DeadLetterMessages } from './dead-letter-messages.js';

export interface BatchOptions {
  stream: StreamKind;
  durable: string;
  subjects: readonly string[];
  /** A batch is handed over at this size. */
  maxMessages: number;
  /** Or when its first message has waited this long, in milliseconds. */
  lingerMs: number;
  /** Sets in hand at a time within a process, in no order among each other; one after the other by default. */
  setsAtOnce?: number;
  policy?: DeliveryPolicy;
  ackWaitMs?: number;
}

/** One message of a batch. What the handler does not settle is acknowledged when it resolves, tried again when it throws. */
export interface BatchMessage {
  envelope: Envelope;
  /** 1 at the first delivery. */
  deliveries: number;
  ack(): void;
  /** Deliver it again after its backoff; parked once its deliveries are used up. */
  nak(error?: unknown): void;
  /** Never deliver it again. */
  term(reason: string): void;
}

export interface BatchSubscription {
  /** Finishes the batches in hand and takes no more. */
  stop(): Promise<void>;
}

/** Messages of a stream in sets, in the order of the stream: for consumers that write in sets. */
export class EventBatches {
  private readonly subscriptions = new Set<BatchSubscription>();

  constructor(
    private readonly link: NatsLink,
    private readonly parked: DeadLetterMessages,
    private readonly metrics: MessagingMetrics,
  ) {}

  /** Batches of one subscription come one after the other unless `setsAtOnce` says otherwise. */
  subscribeBatch(options: BatchOptions, handler: (batch: BatchMessage[]) => Promise<void>): BatchSubscription {
    const loop = new BatchLoop(
      this.link,
      options,
      new Deliveries(options.durable, this.parked, this.metrics, options.policy),
      handler,
    );
    this.parked.register(options.durable, (subject, payload) => loop.replay(subject, payload));
    const subscription = {
      stop: async () => {
        this.subscriptions.delete(subscription);
        await loop.stop();
      },
    };
    this.subscriptions.add(subscription);
    loop.start();
    return subscription;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.subscriptions].map((subscription) => subscription.stop()));
  }
}
