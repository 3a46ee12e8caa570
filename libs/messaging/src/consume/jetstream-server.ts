import { BaseRpcContext, Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import {
  STREAMS,
  type Envelope,
  replayDeadLetters,
  type ReplayDeadLettersReply,
  type ReplayDeadLettersRequest,
  type ServiceName,
  type StreamKind,
} from '@rmm/contracts';
import type { JsMsg } from 'nats';
import { isObservable, lastValueFrom } from 'rxjs';
import type { NatsLink } from '../connection/nats-link.js';
import { withMessageContext } from '../context/message-context.js';
import { decodeEnvelope } from '../envelope/decode-envelope.js';
import type { MessagingMetrics } from '../messaging-metrics.js';
import { RpcServer } from '../rpc/rpc-server.js';
import { Deliveries, keepAlive, type DeliveryPolicy } from './delivery.js';
import { DEFAULT_ACK_WAIT_MS, DurableSource } from './durable-source.js';
import { OrderedLanes } from './ordered-lanes.js';
import type { DeadLetterMessages } from './dead-letter-messages.js';
import { MessageRejected } from './message-rejected.js';
import { subjectMatches } from './subject-match.js';

/** Another durable name, or wider subjects, than the handlers of a stream alone would give. */
export interface ConsumerOptions {
  stream: StreamKind;
  durable: string;
  subjects: readonly string[];
  policy?: DeliveryPolicy;
  ackWaitMs?: number;
}

export interface JetStreamServerOptions {
  service: ServiceName;
  consumers?: readonly ConsumerOptions[];
  /** Messages handled side by side per stream. */
  concurrency?: number;
  policy?: DeliveryPolicy;
}

/** Second argument of a handler, `@Ctx()`; absent when a parked message is replayed. */
export class MessageContext extends BaseRpcContext<[JsMsg | undefined]> {
  get message(): JsMsg | undefined {
    return this.getArgByIndex(0) as JsMsg | undefined;
  }
}

const PREFETCH = 64;
const streamOf = (subject: string): StreamKind | undefined =>
  (Object.keys(STREAMS) as StreamKind[]).find((kind) =>
    STREAMS[kind].subjects.some((pattern) => subjectMatches(pattern, subject) || pattern === subject),
  );

/**
 * Nest's door to NATS. `@EventPattern(subject)` handlers are fed by one durable consumer per stream, named
 * `<service>-<stream>`, and get an `Envelope`; `@MessagePattern(contract.subject)` handlers answer requests.
 * Messages of one aggregate are handled one after the other, others side by side.
 */
export class JetStreamServer extends Server implements CustomTransportStrategy {
  override readonly transportId = Symbol('RMM_NATS');
  override readonly propagatesEventHandlerErrors = true;
  private readonly sources: DurableSource[] = [];
  private readonly lanes: OrderedLanes[] = [];
  private readonly rpc: RpcServer;
  private closing?: Promise<void>;

  constructor(
    private readonly link: NatsLink,
    private readonly parked: DeadLetterMessages,
    private readonly metrics: MessagingMetrics,
    private readonly options: JetStreamServerOptions,
  ) {
    super();
    this.initializeSerializer({});
    this.initializeDeserializer({});
    this.rpc = new RpcServer(link, options.service, metrics);
  }

  async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      await this.link.open();
      for (const [pattern, handler] of this.messageHandlers) {
        if (!handler.isEventHandler) this.rpc.serve(pattern, handler);
      }
      for (const consumer of this.consumers()) this.consume(consumer);
      this.rpc.serve(replayDeadLetters(this.options.service).subject, this.replayDeadLetters);
      callback();
    } catch (error) {
      callback(error);
    }
  }

  /** Takes nothing new and finishes what is in hand; a second call waits for the first. */
  close(): Promise<void> {
    return (this.closing ??= this.closeOnce());
  }

  private async closeOnce(): Promise<void> {
    await Promise.all([...this.sources.map((source) => source.stop()), this.rpc.stop()]);
    await Promise.all(this.lanes.map((lanes) => lanes.idle()));
  }

  override on(): void {
    // The connection has no events of interest to an application: readiness and metrics show its state.
  }

  override unwrap<T>(): T {
    return this.link.connection as T;
  }

  private readonly replayDeadLetters: MessageHandler<ReplayDeadLettersRequest | null, unknown, ReplayDeadLettersReply> =
    async (request) => {
      const outcome = await this.parked.replay(request ?? {});
      return { ...outcome, left: await this.parked.count() };
    };

  private consumers(): ConsumerOptions[] {
    const patterns = [...this.messageHandlers]
      .filter(([, handler]) => handler.isEventHandler)
      .map(([pattern]) => pattern);
    const named = this.options.consumers ?? [];
    const bound = named.flatMap(({ subjects }) => subjects);
    const byStream = new Map<StreamKind, string[]>();
    for (const pattern of patterns) {
      if (bound.some((subject) => subjectMatches(subject, pattern))) continue;
      const stream = streamOf(pattern);
      if (!stream)
        throw new Error(`@EventPattern('${pattern}') belongs to no stream: use Broadcasts, or a subject of STREAMS`);
      byStream.set(stream, [...(byStream.get(stream) ?? []), pattern]);
    }
    const implied = [...byStream].map(([stream, subjects]) => ({
      stream,
      subjects,
      durable: `${this.options.service}-${stream}`,
    }));
    return [...named, ...implied];
  }

  private consume(consumer: ConsumerOptions): void {
    const { durable, stream, subjects, ackWaitMs = DEFAULT_ACK_WAIT_MS } = consumer;
    const deliveries = new Deliveries(durable, this.parked, this.metrics, consumer.policy ?? this.options.policy);
    const lanes = new OrderedLanes(this.options.concurrency ?? 16);
    const accept = async (message: JsMsg): Promise<void> => {
      const envelope = await deliveries.open(message);
      if (envelope)
        await lanes.add(envelope.aggregateId, () => this.handle(durable, ackWaitMs, deliveries, message, envelope));
    };
    const source = new DurableSource(this.link, { stream, durable, subjects, prefetch: PREFETCH, ackWaitMs }, accept);
    this.parked.register(durable, (subject, payload) => this.replay(durable, subject, payload));
    this.sources.push(source);
    this.lanes.push(lanes);
    source.start();
  }

  private async handle(
    durable: string,
    ackWaitMs: number,
    deliveries: Deliveries,
    message: JsMsg,
    envelope: Envelope,
  ): Promise<void> {
    const done = keepAlive([message], ackWaitMs);
    try {
      await withMessageContext(envelope, () => this.dispatch(message.subject, envelope, message), durable);
      deliveries.handled(message);
    } catch (error) {
      await deliveries.failed(message, envelope, error);
    } finally {
      done();
    }
  }

  private async replay(durable: string, subject: string, payload: string): Promise<void> {
    const decoded = decodeEnvelope(subject, payload);
    if (!decoded.ok) throw new MessageRejected(decoded.reason);
    await withMessageContext(decoded.envelope, () => this.dispatch(subject, decoded.envelope), durable);
  }

  /** Every handler whose pattern matches; one that fails has the message delivered to all of them again. */
  private async dispatch(subject: string, envelope: Envelope, message?: JsMsg): Promise<void> {
    const handlers = [...this.messageHandlers].filter(
      ([pattern, handler]) => handler.isEventHandler && subjectMatches(pattern, subject),
    );
    if (handlers.length === 0) throw new MessageRejected('no handler for this subject');
    for (const [, handler] of handlers) await settle(handler, envelope, new MessageContext([message]));
  }
}

async function settle(handler: MessageHandler, envelope: Envelope, context: MessageContext): Promise<void> {
  const result: unknown = await handler(envelope, context);
  if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
}
