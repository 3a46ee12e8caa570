import { Logger } from '@nestjs/common';
import { BaseRpcContext, type MessageHandler } from '@nestjs/microservices';
import type { Msg, Subscription } from 'nats';
import { randomUUID } from 'node:crypto';
import pTimeout from 'p-timeout';
import { isObservable, lastValueFrom } from 'rxjs';
import type { RpcContract } from '@rmm/contracts';
import {
  BadRequestError,
  DomainError,
  RequestDeadline,
  runInContext,
  serializeError,
  ValidationError,
  type FieldErrors,
} from '@rmm/service-kit';
import { fail, SpanKind, startSpan, traceparentOf } from '@rmm/tracing';
import type { NatsLink } from '../connection/nats-link.service.js';
import type { MessagingMetrics } from '../messaging.metrics.js';
import { encodeReply } from './reply-body.js';
import { REQUEST_ID_HEADER, TIMEOUT_HEADER, TRACEPARENT_HEADER, type RpcReplyBody } from './rpc-wire.js';

/** Second argument of an RPC handler. */
export class RpcContext extends BaseRpcContext<[Msg]> {}

type RequestSchema = RpcContract<unknown, unknown>['request'];

/** The first word of the subjects on which a login may receive replies. */
const INBOX_PREFIX = '_INBOX.';

/** Share of the caller's time limit after which nothing is committed any more. */
const REPLY_SHARE = 0.9;
/** Time limit for requests in progress when the service stops, in milliseconds. */
const DRAIN_MS = 5_000;

/** Replies to requests on core NATS; the replicas of a service share its requests through a queue group. */
export class RpcServer {
  private readonly logger = new Logger('RPC');
  private readonly subscriptions: Subscription[] = [];
  private readonly inProgress = new Set<Promise<void>>();

  constructor(
    private readonly link: NatsLink,
    private readonly queue: string,
    private readonly metrics: MessagingMetrics,
  ) {}

  /** @param handler  its `extras.request`, set by `@RpcHandler`, validates the requests */
  serve(subject: string, handler: MessageHandler): void {
    const callback = (error: Error | null, message: Msg): void => {
      if (error) return this.logger.error({ message: `Requests on ${subject} cannot be received`, err: error });
      if (!message.reply?.startsWith(INBOX_PREFIX)) return this.ignore(subject);
      const replying = this.reply(subject, handler, message).finally(() => this.inProgress.delete(replying));
      this.inProgress.add(replying);
    };
    this.subscriptions.push(this.link.connection.subscribe(subject, { queue: this.queue, callback }));
  }

  /** Accepts no new request; finishes those in progress and those that NATS has sent already, which no other replica gets. */
  async stop(): Promise<void> {
    await pTimeout(this.drain(), { milliseconds: DRAIN_MS, message: false });
  }

  private async drain(): Promise<void> {
    const { isConnected } = this.link;
    const drain = async (subscription: Subscription) =>
      isConnected ? subscription.drain() : subscription.unsubscribe();
    await Promise.allSettled(this.subscriptions.map(drain));
    await Promise.allSettled(this.inProgress);
  }

  /**
   * Refuses what is not a request of a client. The server itself publishes on any subject that a client names as the
   * reply of a message or as the target of a push consumer, whatever that client may publish; and a reply on such a
   * subject would be a request to another service in the name of this one.
   */
  private ignore(subject: string): void {
    this.logger.warn({ message: `A message on ${subject} is ignored: its reply subject is no inbox` });
    this.metrics.observeRpc(subject, 'ignored', 0);
  }

  private async reply(subject: string, handler: MessageHandler, message: Msg): Promise<void> {
    const started = performance.now();
    const span = startSpan(subject, {
      kind: SpanKind.SERVER,
      parent: message.headers?.get(TRACEPARENT_HEADER) || undefined,
      attributes: { 'rpc.system.name': 'nats', 'rpc.method': subject },
    });
    const context = {
      requestId: message.headers?.get(REQUEST_ID_HEADER) || randomUUID(),
      traceparent: traceparentOf(span),
    };
    const timeoutMs = Number(message.headers?.get(TIMEOUT_HEADER) || Number.NaN);
    // Earlier than the caller gives up, by the time that the reply needs.
    const handlingMs = timeoutMs * REPLY_SHARE;
    const deadline = new RequestDeadline(handlingMs);
    const timer = timeoutMs > 0 ? setTimeout(() => deadline.expire(), handlingMs).unref() : undefined;
    const body = await runInContext(timer ? { ...context, deadline } : context, () =>
      this.handle(subject, handler, message),
    );
    clearTimeout(timer);
    try {
      message.respond(await encodeReply(body));
    } catch (error) {
      this.logger.error({ message: `The reply of ${subject} cannot be sent; the caller gets an error`, err: error });
      message.respond(JSON.stringify({ error: serializeError(error) } satisfies RpcReplyBody));
    }
    if (body.error !== undefined) fail(span, body.error.code);
    span.end();
    this.metrics.observeRpc(subject, body.error?.code ?? 'ok', (performance.now() - started) / 1_000);
  }

  private async handle(subject: string, handler: MessageHandler, message: Msg): Promise<RpcReplyBody> {
    try {
      const result: unknown = await handler(readRequest(message, handler), new RpcContext([message]));
      const value: unknown = isObservable(result) ? await lastValueFrom(result, { defaultValue: null }) : result;
      return { value };
    } catch (error) {
      const isExpected = error instanceof DomainError && error.status < 500;
      if (!isExpected) this.logger.error({ message: `${subject} failed; the caller gets the error`, err: error });
      return { error: serializeError(error) };
    }
  }
}

/** @throws BadRequestError, ValidationError */
function readRequest(message: Msg, handler: MessageHandler): unknown {
  const json = parse(message);
  const schema = handler.extras?.request as RequestSchema | undefined;
  if (!schema) return json;
  const { success, data, error } = schema.safeParse(json);
  if (success) return data;
  const fieldErrors: FieldErrors = {};
  for (const issue of error.issues) (fieldErrors[issue.path.join('.') || 'body'] ??= []).push(issue.message);
  throw new ValidationError(undefined, { fieldErrors });
}

function parse(message: Msg): unknown {
  try {
    return message.data.length === 0 ? null : JSON.parse(message.string());
  } catch (error) {
    throw new BadRequestError('The request is not JSON', { cause: error });
  }
}
