import { Injectable } from '@nestjs/common';
import type { Envelope } from '@rmm/contracts';
import { type BatchMessage, type BatchSubscription, EventBatches } from '@rmm/messaging';
import { Clock, UnavailableError } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { InstanceLease } from '../sending/instance-lease.js';
import { Sender } from '../sending/sender.js';
import { SubscriptionIndex } from '../subscriptions/subscription-index.js';
import { deliveryIdOf } from './delivery-id.js';
import { deliveryTime, eventRefusal, webhookBody } from './event-refusal.js';
import { type IntakeDelivery, IntakeRepository } from './intake.repository.js';

/** The durable consumer that all replicas share. */
export const EVENTS_DURABLE = 'webhook-dispatcher-events';
const BATCH_MESSAGES = 500;
/** A lone event waits this long for company, in milliseconds. */
const LINGER_MS = 1;

/** Turns events into held deliveries: matched in memory, written in one statement, acknowledged, handed on. */
@Injectable()
export class EventIntake {
  #subscription: BatchSubscription | undefined;

  constructor(
    private readonly batches: EventBatches,
    private readonly index: SubscriptionIndex,
    private readonly repository: IntakeRepository,
    private readonly lease: InstanceLease,
    private readonly sender: Sender,
    private readonly metrics: DispatcherMetrics,
    private readonly clock: Clock,
  ) {}

  start(): void {
    this.#subscription = this.batches.subscribeBatch(
      {
        stream: 'events',
        durable: EVENTS_DURABLE,
        subjects: ['rmm.events.>'],
        maxMessages: BATCH_MESSAGES,
        lingerMs: LINGER_MS,
      },
      (batch) => this.handle(batch),
    );
  }

  /** Finishes the batch in hand. */
  async stop(): Promise<void> {
    await this.#subscription?.stop();
  }

  /** Messages are acknowledged when this resolves. Throws when the database cannot be used: they come again. */
  async handle(batch: readonly BatchMessage[]): Promise<void> {
    await this.sender.waitForRoom();
    const good = batch.filter((message) => {
      const refusal = eventRefusal(message.envelope);
      if (refusal !== null) message.term(refusal);
      return refusal === null;
    });
    // A webhook that was made before its event is in the index from here on, whatever its broadcast does.
    await this.index.refresh();
    const matched = await this.#take(good);
    this.metrics.countEvents(matched, good.length - matched, batch.length - good.length);
  }

  /** @returns how many of the events had a webhook */
  async #take(messages: readonly BatchMessage[]): Promise<number> {
    const deliveries = messages.map(({ envelope }) => this.#deliveriesOf(envelope));
    try {
      await this.#store(deliveries.flat());
    } catch (error) {
      if (error instanceof UnavailableError || messages.length === 1) throw error;
      await this.#takeOneByOne(messages);
    }
    return deliveries.filter((ofOne) => ofOne.length > 0).length;
  }

  /** One event the database will not take must not hold up the others. */
  async #takeOneByOne(messages: readonly BatchMessage[]): Promise<void> {
    for (const message of messages) {
      try {
        await this.#store(this.#deliveriesOf(message.envelope));
      } catch (error) {
        message.nak(error);
      }
    }
  }

  #deliveriesOf(envelope: Envelope): IntakeDelivery[] {
    const subscriptions = this.index.match(envelope.orgId ?? '', envelope.type);
    if (subscriptions.length === 0) return [];
    const event = {
      eventId: envelope.id,
      eventType: envelope.type,
      createdAt: deliveryTime(envelope.timestamp, this.clock.now()),
      body: webhookBody(envelope),
    };
    return subscriptions.map(({ webhookId, retryPolicy }) => ({
      id: deliveryIdOf(envelope.id, webhookId),
      webhookId,
      maxAttempts: retryPolicy.maxRetries + 1,
      event,
    }));
  }

  async #store(deliveries: IntakeDelivery[]): Promise<void> {
    const { owner } = this.lease;
    const made = await this.repository.insert(deliveries, owner);
    const held = deliveries
      .filter(({ id }) => made.delete(id)) // an event that stands twice in the batch is sent once
      .map(({ id, webhookId, event }) => ({
        id,
        webhookId,
        orgId: this.index.find(webhookId)?.orgId ?? '',
        eventId: event.eventId,
        eventType: event.eventType,
        createdAt: event.createdAt,
        body: event.body,
        attempt: 0,
        owner,
      }));
    this.sender.send(held);
  }
}
