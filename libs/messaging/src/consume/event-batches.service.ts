import { Injectable } from '@nestjs/common';
import type { Envelope, StreamKind } from '@rmm/contracts';
import { NatsLink } from '../connection/nats-link.service.js';
import { MessagingMetrics } from '../messaging.metrics.js';
import { BatchConsumer } from './batch-consumer.js';
import { DeadLetterMessagesService } from './dead-letter-messages.service.js';
import { MessageSettler, type RedeliveryPolicy } from './message-settler.js';

export interface BatchOptions {
  stream: StreamKind;
  durable: string;
  subjects: readonly string[];
  /** Size at which a batch is passed to the handler. */
  maxMessages: number;
  /** Time after which an incomplete batch is passed to the handler, in milliseconds. */
  lingerMs: number;
  /** Batches handled at the same time within a process, in no defined order; 1 by default. */
  concurrency?: number;
  policy?: RedeliveryPolicy;
}

/** A message of a batch. Unsettled messages are acknowledged when the handler resolves and redelivered when it throws. */
export interface BatchMessage {
  envelope: Envelope;
  /** 1 at the first delivery. */
  deliveries: number;
  ack(): void;
  /** Redelivers the message after its backoff; dead-letters it once its deliveries are used up. */
  nak(error?: unknown): void;
  /** Ends the message: it is not delivered again. */
  term(reason: string): void;
}

export interface BatchSubscription {
  /** Finishes the batches in progress and accepts no more messages. */
  stop(): Promise<void>;
}

/** Delivers messages of a stream in batches, in the order of the stream, to consumers that write in sets. */
@Injectable()
export class EventBatches {
  private readonly subscriptions = new Set<BatchSubscription>();

  constructor(
    private readonly link: NatsLink,
    private readonly deadLetters: DeadLetterMessagesService,
    private readonly metrics: MessagingMetrics,
  ) {}

  /** Passes batches to the handler one after the other, or `options.concurrency` at a time. */
  subscribe(options: BatchOptions, handler: (batch: BatchMessage[]) => Promise<void>): BatchSubscription {
    const settler = new MessageSettler(options.durable, this.deadLetters, this.metrics, options.policy);
    const consumer = new BatchConsumer(this.link, options, settler, handler);
    this.deadLetters.register(options.durable, (subject, payload) => consumer.replay(subject, payload));
    const subscription = {
      stop: async () => {
        this.subscriptions.delete(subscription);
        await consumer.stop();
      },
    };
    this.subscriptions.add(subscription);
    consumer.start();
    return subscription;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.subscriptions].map((subscription) => subscription.stop()));
  }
}
