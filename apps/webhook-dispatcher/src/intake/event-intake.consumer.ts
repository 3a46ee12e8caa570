import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventStreams, type EventStreamSubscription, type StreamMessage } from '@rmm/messaging';
import { Logger, UnavailableError } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { partitionOf } from '../replicas/partition-of.js';
import { retryForever } from '../sending/retry-forever.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { EventForwarderService } from './event-forwarder.service.js';
import { FanOutWriterService } from './fan-out-writer.service.js';
import { type EventResult, type ForwardedEvent, fromForwarded, toIncomingEvent } from './incoming-event.js';
import { findEventError } from './webhook-event.mapper.js';

/** The durable consumer of all replicas. */
export const EVENTS_DURABLE = 'webhook-dispatcher-events';
/** With the largest events 32 MB, half of what the server allows to wait for a client. */
const PREFETCH = 128;
/** Events in hand: read ahead, so that a burst of one tenant does not delay the events of others. */
const MAX_UNSETTLED = { messages: 10_000, bytes: 48 * 1_048_576 };
/** Large bursts wait in the stream, so that the events of others behind them do not wait. */
const DEFERRAL = { freeBytes: 4 * 1_048_576, bytesPerOrganization: 1_048_576, bytesPerSecond: 16 * 1_048_576 };
/** An event that stopped so many processes, or was deferred so often, needs a look. */
const POLICY = { maxDeliveries: 7, backoffMs: [500, 2_000, 5_000, 15_000, 30_000, 60_000], maxWithoutResult: 1_000 };
/** The time a batch waits for more events. */
const LINGER_MS = 1;
/** The pause before an event without an owner is routed again. */
const REROUTE_MS = 100;

/**
 * Consumes domain events and passes each to the owner of its organization, which is this or another replica. An event is
 * acknowledged when its owner has stored its deliveries; a repeated event creates no second delivery, also when the owner has changed.
 */
@Injectable()
export class EventIntakeConsumer {
  private subscription: EventStreamSubscription | undefined;
  private readonly batch: StreamMessage[] = [];
  private isFlushing = false;
  private isStopped = false;

  constructor(
    private readonly streams: EventStreams,
    private readonly index: SubscriptionIndexService,
    private readonly leases: PartitionLeaseManagerService,
    private readonly forwarder: EventForwarderService,
    private readonly writer: FanOutWriterService,
    private readonly metrics: DispatcherMetrics,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.forwarder.start((events) => this.acceptForwarded(events));
    this.subscription = this.streams.subscribe(
      {
        stream: 'events',
        durable: EVENTS_DURABLE,
        subjects: ['rmm.events.>'],
        prefetch: PREFETCH,
        maxUnsettled: MAX_UNSETTLED,
        policy: POLICY,
        deferral: DEFERRAL,
      },
      (message) => this.handle(message),
    );
    const { subscription } = this;
    this.metrics.observeLag(() => subscription.countPending());
  }

  /** Takes no more events; those not stored are released to other replicas. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.subscription?.stop();
    for (const message of this.batch.splice(0)) message.release();
  }

  private handle(message: StreamMessage): void {
    const error = findEventError(message.envelope);
    if (error !== null) {
      this.metrics.countEvents(0, 0, 1);
      return message.term(error);
    }
    this.batch.push(message);
    if (!this.isFlushing) void this.flushAll();
  }

  /** Never rejects. */
  private async flushAll(): Promise<void> {
    this.isFlushing = true;
    await sleep(LINGER_MS);
    // The refresh rejects only while the process stops.
    await this.flush().catch(() => undefined);
    this.isFlushing = false;
    if (this.isStopped) for (const message of this.batch.splice(0)) message.release();
  }

  private async flush(): Promise<void> {
    while (this.batch.length > 0 && !this.isStopped) {
      const size = this.batch.length;
      // From here on the index contains every webhook created before its event, with or without a broadcast.
      await this.refreshIndex();
      const batch = this.batch.splice(0, size);
      let matched = 0;
      for (const message of batch) {
        const { orgId, type } = message.envelope;
        if (this.index.match(orgId ?? '', type).length === 0) message.ack();
        else {
          matched += 1;
          void this.route(message);
        }
      }
      this.metrics.countEvents(matched, batch.length - matched, 0);
    }
  }

  /** Passes an event to its owner until one has stored it. Never rejects. */
  private async route(message: StreamMessage): Promise<void> {
    const { envelope, text, storedAt } = message;
    const partition = partitionOf(envelope.orgId ?? '');
    let isRepeated = message.deliveries > 1;
    while (!this.isStopped) {
      const result = await this.passOn(message, partition, isRepeated).catch((err: unknown) => {
        this.logger.error({ err, eventId: envelope.id, bytes: text.length, storedAt }, 'routing an event failed');
        return 'failed' as const;
      });
      if (result === 'stored') return message.ack();
      if (result === 'failed') return message.nak(new Error('the deliveries of the event could not be stored'));
      isRepeated ||= result === 'lost' || result === 'refused';
      await sleep(REROUTE_MS, undefined, { ref: false });
    }
    message.release();
  }

  private passOn(
    { envelope, text, storedAt }: StreamMessage,
    partition: number,
    isRepeated: boolean,
  ): Promise<EventResult | 'lost' | 'unowned'> {
    const owner = this.leases.ownerOf(partition);
    if (owner === null) return Promise.resolve('unowned');
    if (owner === this.leases.replicaId)
      return this.writer.accept(toIncomingEvent(envelope, text, storedAt, isRepeated));
    return this.forwarder.forward(owner, [text, storedAt.getTime(), isRepeated]);
  }

  private async acceptForwarded(events: ForwardedEvent[]): Promise<EventResult[]> {
    await this.refreshIndex();
    return Promise.all(
      events.map((forwarded) => {
        const event = fromForwarded(forwarded);
        return event ? this.writer.accept(event) : Promise.resolve<EventResult>('failed');
      }),
    );
  }

  private refreshIndex(): Promise<void> {
    return retryForever(
      () => this.index.refresh(),
      (err) => {
        if (this.isStopped) throw err;
        if (!(err instanceof UnavailableError)) this.logger.error({ err }, 'webhooks cannot be loaded; events wait');
        else this.logger.warn({ err }, 'database unavailable; events wait and are retried');
      },
    );
  }
}
