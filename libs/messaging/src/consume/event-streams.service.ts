import { Injectable } from '@nestjs/common';
import type { JsMsg } from 'nats';
import { STREAMS, type Envelope, type StreamKind } from '@rmm/contracts';
import { NatsLink } from '../connection/nats-link.service.js';
import { decodeEnvelope } from '../envelope/decode-envelope.js';
import { MessageRejected } from '../messaging.errors.js';
import { MessagingMetrics } from '../messaging.metrics.js';
import { DeadLettersService } from './dead-letters.service.js';
import { DurableConsumer } from './durable-consumer.js';
import { MessageSettler, type RedeliveryPolicy } from './message-settler.js';

export interface EventStreamOptions {
  stream: StreamKind;
  durable: string;
  subjects: readonly string[];
  /** Messages fetched ahead of the handler; with the largest messages they must stay below the server's 64 MB. */
  prefetch: number;
  /** No further message is passed on while this many messages or bytes are not settled. */
  maxUnsettled: { messages: number; bytes: number };
  policy?: RedeliveryPolicy;
  /** Defers messages of organizations that send many bytes at once, so that those behind them do not wait. */
  deferral?: Deferral;
}

/** Says when messages are deferred: while all unsettled ones exceed `freeBytes`, and those of their organization its share. */
export interface Deferral {
  freeBytes: number;
  bytesPerOrganization: number;
  /** The rate at which deferred messages are delivered again. */
  bytesPerSecond: number;
}

/** A message that its handler settles once, at any time. It is kept from being redelivered until then. */
export interface StreamMessage {
  readonly envelope: Envelope;
  /** The message as it was published. */
  readonly text: string;
  /** When the stream stored it; the same at each delivery. */
  readonly storedAt: Date;
  /** 1 at the first delivery. */
  readonly deliveries: number;
  ack(): void;
  /** Redelivers the message after its backoff; dead-letters it once its failed deliveries are used up. */
  nak(error: unknown): void;
  /** Redelivers the message, to this or another replica, without counting a failure. */
  release(): void;
  /** Ends the message: it is not delivered again. */
  term(reason: string): void;
}

export interface EventStreamSubscription {
  /** Returns how many messages of the consumer wait in the stream. @throws NatsError */
  countPending(): Promise<number>;
  /** Passes on no more messages; those not settled stay with their handler. */
  stop(): Promise<void>;
}

/** Delivers messages of a stream one by one to a handler that settles each when it likes, within bounds. */
@Injectable()
export class EventStreams {
  private readonly subscriptions = new Set<EventStreamSubscription>();

  constructor(
    private readonly link: NatsLink,
    private readonly deadLetters: DeadLettersService,
    private readonly metrics: MessagingMetrics,
  ) {}

  subscribe(options: EventStreamOptions, handler: (message: StreamMessage) => void): EventStreamSubscription {
    const settler = new MessageSettler(options.durable, this.deadLetters, this.metrics, options.policy);
    const reader = new StreamReader(this.link, options, settler, handler);
    this.deadLetters.register(options.durable, (subject, payload) => reader.replay(subject, payload));
    this.subscriptions.add(reader);
    reader.start();
    return reader;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.subscriptions].map((subscription) => subscription.stop()));
  }
}

/** A third of the shortest time after which a message is delivered again. */
const KEEP_ALIVE_MS = 3_000;
/** The shortest delay of a deferred message for each of its deliveries, and its limit. */
const LEAST_DELAY_MS = 250;
const MAX_LEAST_DELAY_MS = 30_000;

/** Reads one durable consumer, counts what is not settled and keeps it alive. */
class StreamReader implements EventStreamSubscription {
  private readonly consumer: DurableConsumer;
  private readonly unsettled = new Set<JsMsg>();
  private readonly keepAliveTimer: NodeJS.Timeout;
  private readonly bytesByOrganization = new Map<string, number>();
  /** When the last deferred message is delivered again. */
  private deferredUntilMs = 0;
  private bytes = 0;
  private onSettled: () => void = () => undefined;
  private stopped = false;

  constructor(
    private readonly link: NatsLink,
    private readonly options: EventStreamOptions,
    private readonly settler: MessageSettler,
    private readonly handler: (message: StreamMessage) => void,
  ) {
    this.consumer = new DurableConsumer(link, options, (message) => this.accept(message));
    this.keepAliveTimer = setInterval(() => this.keepAlive(), KEEP_ALIVE_MS).unref();
  }

  start(): void {
    this.consumer.start();
  }

  async countPending(): Promise<number> {
    const { stream, durable } = this.options;
    const manager = await this.link.connection.jetstreamManager({ checkAPI: false });
    return (await manager.consumers.info(STREAMS[stream].name, durable)).num_pending;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.onSettled();
    await this.consumer.stop();
    if (this.unsettled.size === 0) clearInterval(this.keepAliveTimer);
  }

  /** Handles a dead letter as a message of its own. */
  replay(subject: string, payload: string): Promise<void> {
    const decoded = decodeEnvelope(subject, payload);
    if (!decoded.ok) throw new MessageRejected(decoded.reason);
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown) => reject(reason instanceof Error ? reason : new Error(String(reason)));
      const release = () => fail('the message was released');
      this.handler({
        envelope: decoded.envelope,
        text: payload,
        storedAt: new Date(decoded.envelope.timestamp),
        deliveries: 2,
        ack: resolve,
        nak: fail,
        release,
        term: fail,
      });
    });
  }

  /** Waits while too much is not settled, which gives the consumer back-pressure. */
  private async accept(message: JsMsg): Promise<void> {
    if (this.defer(message)) return;
    const envelope = await this.settler.open(message);
    if (!envelope) return;
    const text = message.string();
    this.unsettled.add(message);
    this.countBytes(message, message.data.length);
    const settle = (how: () => Promise<void> | void) => this.settle(message, how);
    this.handler({
      envelope,
      text,
      storedAt: new Date(message.info.timestampNanos / 1_000_000),
      deliveries: message.info.deliveryCount,
      ack: () => settle(() => this.settler.settleHandled(message)),
      nak: (error) => settle(() => this.settler.settleFailed(message, envelope, error)),
      release: () => settle(() => message.nak()),
      term: (reason) => settle(() => this.settler.terminate(message, reason, envelope.id)),
    });
    const { messages, bytes } = this.options.maxUnsettled;
    while (!this.stopped && (this.unsettled.size >= messages || this.bytes >= bytes)) {
      await new Promise<void>((resolve) => (this.onSettled = resolve));
    }
  }

  /** Defers a message of an organization with much in hand, before it is parsed: the stream delivers it again. */
  private defer(message: JsMsg): boolean {
    const { deferral } = this.options;
    if (!deferral) return false;
    const size = message.data.length;
    const ofOrganization = this.bytesByOrganization.get(organizationOf(message.subject)) ?? 0;
    const isOverShare = ofOrganization > 0 && ofOrganization + size > deferral.bytesPerOrganization;
    if (!isOverShare || this.bytes + size <= deferral.freeBytes) return false;
    const now = performance.now();
    this.deferredUntilMs = Math.max(this.deferredUntilMs, now) + (size / deferral.bytesPerSecond) * 1_000;
    const leastMs = Math.min(MAX_LEAST_DELAY_MS, message.info.deliveryCount * LEAST_DELAY_MS);
    message.nak(Math.ceil(Math.max(this.deferredUntilMs - now, leastMs)));
    return true;
  }

  private countBytes({ subject }: JsMsg, bytes: number): void {
    this.bytes += bytes;
    const orgId = organizationOf(subject);
    const ofOrganization = (this.bytesByOrganization.get(orgId) ?? 0) + bytes;
    if (ofOrganization > 0) this.bytesByOrganization.set(orgId, ofOrganization);
    else this.bytesByOrganization.delete(orgId);
  }

  private settle(message: JsMsg, how: () => Promise<void> | void): void {
    if (!this.unsettled.delete(message)) return;
    this.countBytes(message, -message.data.length);
    void how();
    this.onSettled();
  }

  private keepAlive(): void {
    for (const message of this.unsettled) message.working();
    if (this.stopped && this.unsettled.size === 0) clearInterval(this.keepAliveTimer);
  }
}

/** Returns the organization in the subject of an event: `rmm.events.<orgId>.<type>`. */
const organizationOf = (subject: string): string => subject.split('.', 3)[2] ?? '';
