import { Injectable } from '@nestjs/common';
import type { Envelope } from '@rmm/contracts';
import { type BatchMessage, type BatchSubscription, EventBatches } from '@rmm/messaging';
import { Clock, UnavailableError } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import type { Subscription } from '../subscriptions/subscription.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { deliveryTime, eventRefusal, webhookBody } from './event-refusal.js';
import type { IntakeEvent } from './intake.repository.js';
import { IntakeWriterService } from './intake-writer.service.js';

/** The durable consumer that all replicas share. */
export const EVENTS_DURABLE = 'webhook-dispatcher-events';
const BATCH_MESSAGES = 500;
/** Together 5,000 events: so far a tenant's burst is looked past for those of others. */
const BATCHES_AT_ONCE = 10;
/** A lone event waits this long for company, in milliseconds. */
const LINGER_MS = 1;

/** Turns events into deliveries: matched in memory, handed to the writer, acknowledged when they are stored. */
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

  /** Finishes the statement in hand; what was not written yet goes to others. */
  async stop(): Promise<void> {
    const stopped = this.subscription?.stop();
    this.writer.stop();
    await stopped;
  }

  /** Each message is acknowledged once its deliveries stand in the table. @throws UnavailableError  while we stop */
  async handle(batch: readonly BatchMessage[]): Promise<void> {
    const good = batch.filter((message) => {
      const refusal = eventRefusal(message.envelope);
      if (refusal !== null) message.term(refusal);
      return refusal === null;
    });
    // A webhook that was made before its event is in the index from here on, whatever its broadcast does.
    await this.writer.whenAvailable(() => this.index.refresh());
    let matched = 0;
    const writes = good.map(async (message) => {
      const { envelope } = message;
      const subscriptions = this.index.match(envelope.orgId ?? '', envelope.type);
      if (subscriptions.length === 0) return message.ack();
      matched += 1;
      await this.write(message, subscriptions);
    });
    this.metrics.countEvents(matched, good.length - matched, batch.length - good.length);
    const [refused] = (await Promise.allSettled(writes)).filter(({ status }) => status === 'rejected');
    if (refused?.status === 'rejected') throw refused.reason;
  }

  private async write(message: BatchMessage, subscriptions: readonly Subscription[]): Promise<void> {
    try {
      await this.writer.write(this.eventOf(message.envelope), subscriptions);
      message.ack();
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      message.nak(error);
    }
  }

  private eventOf(envelope: Envelope): IntakeEvent {
    return {
      eventId: envelope.id,
      eventType: envelope.type,
      createdAt: deliveryTime(envelope.timestamp, this.clock.now()),
      body: webhookBody(envelope),
    };
  }
}
