import { Injectable } from '@nestjs/common';
import type { Envelope } from '@rmm/contracts';
import { type BatchMessage, type BatchSubscription, EventBatches } from '@rmm/messaging';
import { Clock, UnavailableError } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import type { HeldDelivery } from '../sending/held-delivery.js';
import { InstanceLease } from '../sending/instance-lease.js';
import { Parking } from '../sending/parking.js';
import { Sender } from '../sending/sender.js';
import { Replicas } from '../sending/shards/replicas.js';
import { Shards } from '../sending/shards/shards.js';
import type { Subscription } from '../subscriptions/subscription.js';
import { SubscriptionIndex } from '../subscriptions/subscription-index.js';
import { deliveryIdOf } from './delivery-id.js';
import { deliveryTime, eventRefusal, webhookBody } from './event-refusal.js';
import { type IntakeDelivery, type IntakeEvent, IntakeRepository } from './intake.repository.js';

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
    private readonly shards: Shards,
    private readonly replicas: Replicas,
    private readonly parking: Parking,
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
    return subscriptions.map((subscription) => ({
      id: deliveryIdOf(envelope.id, subscription.webhookId),
      webhookId: subscription.webhookId,
      maxAttempts: subscription.retryPolicy.maxRetries + 1,
      shard: subscription.shard,
      owner: this.#ownerOf(subscription),
      event,
    }));
  }

  /** This process, when it may send it and has room for it; else it waits in the table for who may. */
  #ownerOf({ orgId, shard }: Subscription): string | null {
    if (this.parking.isParked(orgId)) return orgId;
    return this.shards.owns(shard) ? this.lease.owner : null;
  }

  async #store(deliveries: IntakeDelivery[]): Promise<void> {
    const made = await this.repository.insert(deliveries);
    const held: HeldDelivery[] = [];
    let isForOthers = false;
    for (const { id, webhookId, owner, event } of deliveries) {
      if (!made.delete(id)) continue; // an event that stands twice in the batch is sent once
      const orgId = this.index.find(webhookId)?.orgId ?? '';
      if (owner === null) isForOthers = true;
      else if (owner === orgId) this.parking.park(orgId);
      else held.push(heldOf(event, { id, webhookId, orgId, owner }));
    }
    if (isForOthers) this.replicas.due();
    this.sender.send(held);
  }
}

/** Field by field: spread out, it is a third of what the intake of a delivery costs. */
const heldOf = (
  { eventId, eventType, createdAt, body }: IntakeEvent,
  { id, webhookId, orgId, owner }: Pick<HeldDelivery, 'id' | 'webhookId' | 'orgId' | 'owner'>,
): HeldDelivery => ({ id, createdAt, webhookId, orgId, eventId, eventType, body, attempt: 0, owner });
