import { Inject, Injectable } from '@nestjs/common';
import { BaseRpcContext, Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import type { JsMsg } from 'nats';
import { isObservable, lastValueFrom } from 'rxjs';
import {
  durablesOf,
  replayDeadLetters,
  STREAMS,
  type Durable,
  type Envelope,
  type ReplayDeadLettersRequest,
  type StreamKind,
} from '@rmm/contracts';
import { NatsLink } from '../connection/nats-link.service.js';
import { handleInContext } from '../context/execution-context.js';
import { MessageRejected, UnlistedSubjects } from '../messaging.errors.js';
import { MessagingMetrics } from '../messaging.metrics.js';
import { MESSAGING_OPTIONS, type MessagingModuleOptions } from '../messaging.options.js';
import { RpcServer } from '../rpc/rpc-server.js';
import { uncovered } from '../streams/durables.js';
import { DeadLetterMessagesService } from './dead-letter-messages.service.js';
import { DurableConsumer } from './durable-consumer.js';
import { KeyedQueue } from './keyed-queue.js';
import { keepAlive, MessageSettler, type RedeliveryPolicy } from './message-settler.js';
import { openDeadLetter } from './replay-settlement.js';
import { subjectMatches } from './subject-match.js';

/** A durable consumer with another name, or with more subjects, than the handlers imply. */
export interface ConsumerOptions {
  stream: StreamKind;
  durable: string;
  subjects: readonly string[];
  policy?: RedeliveryPolicy;
}

/** Second argument of an event handler; `message` is undefined when a dead letter is replayed. */
export class MessageContext extends BaseRpcContext<[JsMsg | undefined]> {
  get message(): JsMsg | undefined {
    return this.getArgByIndex(0) as JsMsg | undefined;
  }
}

const PREFETCH = 64;
const DEFAULT_CONCURRENCY = 16;

const streamOf = (subject: string): StreamKind | undefined =>
  (Object.keys(STREAMS) as StreamKind[]).find((kind) =>
    STREAMS[kind].subjects.some((pattern) => subjectMatches(pattern, subject) || pattern === subject),
  );

/**
 * Nest microservice transport for NATS. Handlers of events are served by one durable consumer per stream, named
 * `<service>-<stream>`; handlers of contracts reply to requests. Messages of one aggregate are handled in order, others
 * concurrently.
 */
@Injectable()
export class JetStreamServer extends Server implements CustomTransportStrategy {
  override readonly transportId = Symbol('RMM_NATS');
  override readonly propagatesEventHandlerErrors = true;
  private readonly durableConsumers: DurableConsumer[] = [];
  private readonly queues: KeyedQueue[] = [];
  private readonly rpc: RpcServer;
  private closing?: Promise<void>;

  constructor(
    private readonly link: NatsLink,
    private readonly deadLetters: DeadLetterMessagesService,
    private readonly metrics: MessagingMetrics,
    @Inject(MESSAGING_OPTIONS)
    private readonly options: Pick<
      MessagingModuleOptions,
      'service' | 'consumers' | 'concurrency' | 'policy' | 'durables'
    >,
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
      const consumers = this.consumers();
      assertListed(consumers, this.options.durables ?? durablesOf(this.options.service));
      for (const consumer of consumers) this.consume(consumer);
      this.serveReplay();
      callback();
    } catch (error) {
      callback(error);
    }
  }

  /** Accepts nothing new and finishes messages and requests in progress; a second call waits for the first. */
  close(): Promise<void> {
    return (this.closing ??= this.closeOnce());
  }

  private async closeOnce(): Promise<void> {
    await Promise.all([...this.durableConsumers.map((consumer) => consumer.stop()), this.rpc.stop()]);
    await Promise.all(this.queues.map((queue) => queue.idle()));
  }

  override on(): void {
    // The transport emits no events: readiness and metrics show the state of the connection.
  }

  override unwrap<T>(): T {
    return this.link.connection as T;
  }

  private serveReplay(): void {
    const contract = replayDeadLetters(this.options.service);
    const handler: MessageHandler = async (request: ReplayDeadLettersRequest) => this.deadLetters.replay(request);
    handler.extras = { request: contract.request };
    this.rpc.serve(contract.subject, handler);
  }

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
      if (!stream) throw new Error(`No stream has the subject ${pattern}: use Broadcasts, or a subject of STREAMS`);
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
    const { durable, stream, subjects } = consumer;
    const settler = new MessageSettler(durable, this.deadLetters, this.metrics, consumer.policy ?? this.options.policy);
    const queue = new KeyedQueue(this.options.concurrency ?? DEFAULT_CONCURRENCY);
    const accept = async (message: JsMsg): Promise<void> => {
      const envelope = await settler.open(message);
      if (!envelope) return;
      await queue.add(envelope.aggregateId, () => this.handle(message, envelope, { durable, settler }));
    };
    const source = new DurableConsumer(this.link, { stream, durable, subjects, prefetch: PREFETCH }, accept);
    this.deadLetters.register(durable, (subject, payload) => this.replay(durable, subject, payload));
    this.durableConsumers.push(source);
    this.queues.push(queue);
    source.start();
  }

  private async handle(
    message: JsMsg,
    envelope: Envelope,
    { durable, settler }: { durable: string; settler: MessageSettler },
  ): Promise<void> {
    const done = keepAlive([message]);
    try {
      await handleInContext(envelope, durable, () => this.dispatch(message.subject, envelope, message));
      settler.settleHandled(message);
    } catch (error) {
      await settler.settleFailed(message, envelope, error);
    } finally {
      done();
    }
  }

  private async replay(durable: string, subject: string, payload: string): Promise<void> {
    const envelope = openDeadLetter(subject, payload);
    await handleInContext(envelope, durable, () => this.dispatch(subject, envelope));
  }

  /** Calls every handler whose pattern matches; when one fails, the message is delivered to all of them again. */
  private async dispatch(subject: string, envelope: Envelope, message?: JsMsg): Promise<void> {
    const handlers = [...this.messageHandlers].filter(
      ([pattern, handler]) => handler.isEventHandler && subjectMatches(pattern, subject),
    );
    if (handlers.length === 0) throw new MessageRejected('no handler for this subject');
    for (const [, handler] of handlers) await callHandler(handler, envelope, new MessageContext([message]));
  }
}

async function callHandler(handler: MessageHandler, envelope: Envelope, context: MessageContext): Promise<void> {
  const result: unknown = await handler(envelope, context);
  if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
}

/** Checks that the set-up step creates each consumer with the subjects that are handled. @throws UnlistedSubjects */
function assertListed(consumers: readonly ConsumerOptions[], durables: readonly Durable[]): void {
  for (const { durable, subjects } of consumers) {
    const listed = durables.find(({ name }) => name === durable);
    const missing = uncovered(listed?.subjects ?? [], subjects);
    if (missing.length > 0) throw new UnlistedSubjects(durable, missing);
  }
}
