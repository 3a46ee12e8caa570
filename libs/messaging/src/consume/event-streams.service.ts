import { Injectable } from '@nestjs/common';
import type { JsMsg } from 'nats';
import { STREAMS } from '@rmm/contracts';
import { NatsLink } from '../connection/nats-link.service.js';
import { MessagingMetrics } from '../messaging.metrics.js';
import { DeadLetterMessagesService } from './dead-letter-messages.service.js';
import { MessageSettler, type RedeliveryPolicy } from './message-settler.js';
import { StoredMessages, textOf } from './stored-messages.js';
import {
  type EventStreamSubscription,
  type StreamMessage,
  StreamReader,
  type StreamReaderOptions,
} from './stream-reader.js';

export interface EventStreamOptions extends StreamReaderOptions {
  policy?: RedeliveryPolicy;
}

/** Delivers messages of a stream one by one to a handler that settles each when it likes, within bounds. */
@Injectable()
export class EventStreams {
  private readonly subscriptions = new Set<EventStreamSubscription>();

  constructor(
    private readonly link: NatsLink,
    private readonly deadLetters: DeadLetterMessagesService,
    private readonly metrics: MessagingMetrics,
  ) {}

  subscribe(options: EventStreamOptions, handler: (message: StreamMessage) => void): EventStreamSubscription {
    const stored = new StoredMessages(this.link, STREAMS[options.stream].name);
    const readText = async ({ seq }: JsMsg) => textOf(await stored.read(seq));
    const settler = new MessageSettler(options.durable, this.deadLetters, this.metrics, options.policy, readText);
    const reader = new StreamReader(this.link, options, stored, settler, handler);
    this.deadLetters.register(options.durable, (subject, payload) => reader.replay(subject, payload));
    this.subscriptions.add(reader);
    reader.start();
    return reader;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.subscriptions].map((subscription) => subscription.stop()));
  }
}
