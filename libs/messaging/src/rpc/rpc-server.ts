import { BaseRpcContext, type MessageHandler } from '@nestjs/microservices';
import { Logger } from '@nestjs/common';
import { BadRequestError, DomainError, runInContext, serializeError } from '@rmm/service-kit';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Msg, Subscription } from 'nats';
import { isObservable, lastValueFrom } from 'rxjs';
import type { NatsLink } from '../connection/nats-link.js';
import type { MessagingMetrics } from '../messaging-metrics.js';
import { REQUEST_ID_HEADER, TRACEPARENT_HEADER, type RpcReply } from './rpc-wire.js';

/** Second argument of an RPC handler, `@Ctx()`. */
export class RpcContext extends BaseRpcContext<[Msg]> {}

/** How long requests in hand may take when the service stops, in milliseconds. */
const DRAIN_MS = 5_000;

/** Answers requests on core NATS; replicas share them through the service's queue group. */
export class RpcServer {
  private readonly logger = new Logger('RPC');
  private readonly subscriptions: Subscription[] = [];
  private readonly inHand = new Set<Promise<void>>();

  constructor(
    private readonly link: NatsLink,
    private readonly queue: string,
    private readonly metrics: MessagingMetrics,
  ) {}

  serve(subject: string, handler: MessageHandler): void {
    const callback = (error: Error | null, message: Msg): void => {
      if (error) return this.logger.error({ message: `${subject} cannot be served`, err: error });
      const answering = this.answer(subject, handler, message).finally(() => this.inHand.delete(answering));
      this.inHand.add(answering);
    };
    this.subscriptions.push(this.link.connection.subscribe(subject, { queue: this.queue, callback }));
  }

  /** Takes no new request and finishes those in hand. */
  async stop(): Promise<void> {
    for (const subscription of this.subscriptions) subscription.unsubscribe();
    await Promise.race([Promise.allSettled(this.inHand), sleep(DRAIN_MS, undefined, { ref: false })]);
  }

  private async answer(subject: string, handler: MessageHandler, message: Msg): Promise<void> {
    const started = performance.now();
    const context = {
      requestId: message.headers?.get(REQUEST_ID_HEADER) || randomUUID(),
      traceparent: message.headers?.get(TRACEPARENT_HEADER) || undefined,
    };
    const reply = await runInContext(context, () => this.reply(subject, handler, message));
    try {
      message.respond(JSON.stringify(reply));
    } catch (error) {
      this.logger.error({ message: `The reply of ${subject} cannot be sent`, err: error });
      message.respond(JSON.stringify({ error: serializeError(error) } satisfies RpcReply));
    }
    this.metrics.observeRpc(subject, reply.error?.code ?? 'ok', (performance.now() - started) / 1_000);
  }

  private async reply(subject: string, handler: MessageHandler, message: Msg): Promise<RpcReply> {
    try {
      const result: unknown = await handler(parse(message), new RpcContext([message]));
      const value: unknown = isObservable(result) ? await lastValueFrom(result, { defaultValue: null }) : result;
      return { value };
    } catch (error) {
      const told = serializeError(error);
      const expected = error instanceof DomainError && error.status < 500;
      if (!expected) this.logger.error({ message: `${subject} failed`, err: error });
      return { error: told };
    }
  }
}

function parse(message: Msg): unknown {
  try {
    return message.data.length === 0 ? null : JSON.parse(message.string());
  } catch (error) {
    throw new BadRequestError('The request is not JSON', { cause: error });
  }
}
