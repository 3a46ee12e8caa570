import { Injectable } from '@nestjs/common';
import type { Envelope } from '@rmm/contracts';
import { type BatchMessage, type BatchSubscription, EventBatches } from '@rmm/messaging';
import { Clock, UnavailableError } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import { IntakeWriterService } from './intake-writer.service.js';
import type { IntakeEvent } from './intake.repository.js';
import { deliveryTime, findEventError, createWebhookBody } from './webhook-event.mapper.js';

/** The durable consumer of all replicas. */
export const EVENTS_DURABLE = 'webhook-dispatcher-events';
const BATCH_MESSAGES = 500;
/** Reads up to 5,000 events ahead, so that a burst of one tenant does not delay the events of others. */
const BATCHES_AT_ONCE = 10;
/** The time a batch waits for more events. */
const LINGER_MS = 1;

/** Consumes domain events: matches them in memory, writes their deliveries and acknowledges them when these are stored. */
@Injectable()
export class EventIntakeConsumer {
  private subscription: BatchSubscription | undefined;

  constructor(
    private readonly batches: EventBatches,
    private readonly index: SubscriptionIndexService,
    private readonly writer: IntakeWriterService,
    private readonly metrics: DispatcherMetrics,
    private readonly clock: Clock,
  ) {}

  start(): void {
    this.subscription = this.batches.subscribe(
      {
        stream: 'events',
        durable: EVENTS_DURABLE,
        subjects: ['rmm.events.>'],
        maxMessages: BATCH_MESSAGES,
        lingerMs: LINGER_MS,
        concurrency: BATCHES_AT_ONCE,
      },
      (batch) => this.handle(batch),
    );
  }

  /** Resolves when the running statement has ended; events that are not written are redelivered to other replicas. */
  async stop(): Promise<void> {
    const stopped = this.subscription?.stop();
    this.writer.stop();
    await stopped;
  }

  /** Acknowledges each message when its deliveries are stored. @throws UnavailableError  while the process stops */
  async handle(batch: readonly BatchMessage[]): Promise<void> {
    const accepted = batch.filter((message) => {
      const error = findEventError(message.envelope);
      if (error !== null) message.term(error);
      return error === null;
    });
    // From here on the index contains every webhook created before its event, with or without a broadcast.
    await this.writer.whenAvailable(() => this.index.refresh());
    let matched = 0;
    const writes = accepted.map(async (message) => {
      const { envelope } = message;
      const subscriptions = this.index.match(envelope.orgId ?? '', envelope.type);
      if (subscriptions.length === 0) return message.ack();
      matched += 1;
      await this.write(message, subscriptions);
    });
    this.metrics.countEvents(matched, accepted.length - matched, batch.length - accepted.length);
    const [failed] = (await Promise.allSettled(writes)).filter(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  private async write(message: BatchMessage, subscriptions: readonly Subscription[]): Promise<void> {
    try {
      await this.writer.write(this.toIntakeEvent(message.envelope), subscriptions);
      message.ack();
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      message.nak(error);
    }
  }

  private toIntakeEvent(envelope: Envelope): IntakeEvent {
    return {
      eventId: envelope.id,
      eventType: envelope.type,
      createdAt: deliveryTime(envelope.timestamp, this.clock.now()),
      body: createWebhookBody(envelope),
    };
  }
}
