import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLive, OrganizationDirectory } from '@rmm/access';
import { EventStreams, type EventStreamSubscription, type StreamMessage } from '@rmm/messaging';
import { Logger, UnavailableError } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { retryForever } from '../sending/retry-forever.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { EventForwarderService } from './event-forwarder.service.js';
import { FanOutWriterService } from './fan-out-writer.service.js';
import {
  type EventResult,
  findEventError,
  forPartner,
  type IncomingEvent,
  toIncomingEvent,
} from './webhook-event.mapper.js';

/** The durable consumer of all replicas. */
export const EVENTS_DURABLE = 'webhook-dispatcher-events';
/** Headers read ahead. */
const PREFETCH = 512;
/** Events in hand, most of which are headers only: read ahead, so that a burst of one tenant does not delay the events of others. */
const MAX_MESSAGES = 20_000;
/** Events that are read and not stored: organizations share what is handled within some milliseconds. */
const BYTES = { total: 48 * 1_048_576, shared: 2 * 1_048_576 };
/** An event that stopped so many processes, or was deferred so often, needs a look. */
const POLICY = { maxDeliveries: 7, backoffMs: [500, 2_000, 5_000, 15_000, 30_000, 60_000], maxWithoutResult: 1_000 };
/** The time a batch waits for more events. */
const LINGER_MS = 1;
/** The pause before an event without an owner is routed again. */
const REROUTE_MS = 100;

/** The part of a message that an event on its way keeps: the message itself has the parsed text as well. */
type Settlement = Pick<StreamMessage, 'ack' | 'nak' | 'release'>;

/** `released`: the process stops, and another replica gets the event. */
type RouteResult = 'stored' | 'failed' | 'released';

/** Returns whether an event says that its organization was suspended or deleted, or changed otherwise. */
const isOfOrganizationItself = ({ eventType }: IncomingEvent): boolean => eventType.startsWith('organization.');

/** Settles an event once all that it was passed to have stored it. Never rejects. */
async function settle(routes: readonly Promise<RouteResult>[], { ack, nak, release }: Settlement): Promise<void> {
  const results = await Promise.all(routes);
  if (results.includes('released')) release();
  else if (results.includes('failed')) nak(new Error('the deliveries of the event could not be stored'));
  else ack();
}

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
    private readonly organizations: OrganizationDirectory,
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
        maxMessages: MAX_MESSAGES,
        bytes: BYTES,
        policy: POLICY,
      },
      (message) => this.handle(message),
    );
    const { subscription } = this;
    this.metrics.observeLag(() => subscription.countPending());
  }

  /** Takes no more events; those not stored are released to other replicas. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.forwarder.stop();
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
        const { envelope, text, storedAt, deliveries } = message;
        const isForOrganization = this.index.countSubscribers(envelope.orgId ?? '', envelope.type) > 0;
        const isForPartner = this.mayBeForPartner(envelope);
        if (isForOrganization || isForPartner) {
          matched += 1;
          const event = toIncomingEvent(envelope, text, storedAt, deliveries > 1);
          const routes = isForOrganization ? [this.route(event)] : [];
          if (isForPartner) routes.push(this.routeToPartner(event));
          void settle(routes, message);
        } else message.ack();
      }
      this.metrics.countEvents(matched, batch.length - matched, 0);
    }
  }

  /** Returns whether to ask the directory for the partner of an event: it has webhooks, or the publisher did not name it. */
  private mayBeForPartner({ partnerId, type }: StreamMessage['envelope']): boolean {
    if (partnerId === null) return this.index.hasPartnerWebhooks;
    return this.index.countSubscribers(partnerId, type) > 0;
  }

  /**
   * Passes an event to the webhooks of the partner that the directory has for its organization; unless the organization is
   * active, only what happens to itself. Never rejects.
   */
  private async routeToPartner(event: IncomingEvent): Promise<RouteResult> {
    while (!this.isStopped) {
      try {
        const organization = await this.organizations.find(event.orgId);
        if (organization === null || !(isLive(organization) || isOfOrganizationItself(event))) return 'stored';
        const { partnerId } = organization;
        if (this.index.countSubscribers(partnerId, event.eventType) === 0) return 'stored';
        return await this.route(forPartner(event, partnerId));
      } catch (err) {
        if (!(err instanceof UnavailableError)) {
          this.logger.error(
            { err, eventId: event.eventId },
            'Reading an organization failed; its event is delivered again',
          );
          return 'failed';
        }
      }
      await sleep(REROUTE_MS, undefined, { ref: false });
    }
    return 'released';
  }

  /** Passes an event to its owner until one has stored it. Never rejects. */
  private async route(event: IncomingEvent): Promise<RouteResult> {
    let { isRepeated } = event;
    while (!this.isStopped) {
      const result = await this.passOn(isRepeated ? { ...event, isRepeated } : event).catch((err: unknown) => {
        const { eventId, body } = event;
        this.logger.error({ err, eventId, bytes: body.length }, 'Routing an event failed; it is delivered again');
        return 'failed' as const;
      });
      if (result === 'stored' || result === 'failed') return result;
      isRepeated ||= result === 'lost' || result === 'refused';
      await sleep(REROUTE_MS, undefined, { ref: false });
    }
    return 'released';
  }

  private passOn(event: IncomingEvent): Promise<EventResult | 'lost' | 'unowned'> {
    const owner = this.leases.ownerOf(event.partition);
    if (owner === null) return Promise.resolve('unowned');
    return owner === this.leases.replicaId ? this.writer.accept(event) : this.forwarder.forward(owner, event);
  }

  private async acceptForwarded(events: IncomingEvent[]): Promise<EventResult[]> {
    await this.refreshIndex();
    return Promise.all(events.map((event) => this.writer.accept(event)));
  }

  private refreshIndex(): Promise<void> {
    return retryForever(
      () => this.index.refresh(),
      (err) => {
        if (this.isStopped) throw err;
        if (!(err instanceof UnavailableError)) this.logger.error({ err }, 'Webhooks cannot be loaded; events wait');
        else this.logger.warn({ err }, 'Database unavailable; events wait and are retried');
      },
    );
  }
}
