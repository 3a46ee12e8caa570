import { Injectable, Logger } from '@nestjs/common';
import { headers, type MsgHdrs } from 'nats';
import pTimeout from 'p-timeout';
import type { RpcContract } from '@rmm/contracts';
import { currentContext, deserializeError, UnavailableError } from '@rmm/service-kit';
import { endAfter, type Span, SpanKind, startSpan, traceparentOf } from '@rmm/tracing';
import { NatsLink } from '../connection/nats-link.service.js';
import { decodeReply } from './reply-body.js';
import { REQUEST_ID_HEADER, TIMEOUT_HEADER, TRACEPARENT_HEADER, type RpcReplyBody } from './rpc-wire.js';

export interface RpcOptions {
  /** Overrides the time limit of the contract. */
  timeoutMs?: number;
}

/**
 * Share of the time limit after which an idempotent request is sent again. The first one may have gone to a replica that
 * was killed: the server knows no other sign of it than the missing reply.
 */
const RESEND_SHARE = 1 / 3;

/** Calls other services over core NATS. Every call ends with the reply, the error of the other side, or 503. */
@Injectable()
export class RpcClient {
  private readonly logger = new Logger('RPC');

  constructor(private readonly link: NatsLink) {}

  /**
   * @throws DomainError  the error of the other side, by kind, code, status and extras
   * @throws UnavailableError  when no service is subscribed, none replies in time, or NATS is down
   */
  async call<Request, Reply>(
    contract: RpcContract<Request, Reply>,
    request: Request,
    options: RpcOptions = {},
  ): Promise<Reply> {
    if (!this.link.isConnected) throw unavailable(contract.subject, new Error('NATS is not connected'));
    const timeoutMs = options.timeoutMs ?? contract.timeoutMs;
    const remainingMs = currentContext()?.deadline?.remainingMs ?? timeoutMs;
    const reply = await this.send(contract, JSON.stringify(request ?? null), Math.min(timeoutMs, remainingMs));
    if (reply.error !== undefined) throw deserializeError(reply.error);
    return (reply.value ?? null) as Reply;
  }

  private async send(
    { subject, idempotent }: Pick<RpcContract<unknown, unknown>, 'subject' | 'idempotent'>,
    body: string,
    timeoutMs: number,
  ): Promise<RpcReplyBody> {
    const first = this.request(subject, body, timeoutMs);
    if (!idempotent) return first;
    const resendAfterMs = Math.max(1, Math.round(timeoutMs * RESEND_SHARE));
    const reply = await pTimeout(first, { milliseconds: resendAfterMs, fallback: () => null });
    if (reply !== null) return reply;
    this.logger.warn({ message: `No reply to ${subject} yet; the request is sent again`, waitedMs: resendAfterMs });
    return firstReply([first, this.request(subject, body, timeoutMs - resendAfterMs)]);
  }

  private request(subject: string, body: string, timeoutMs: number): Promise<RpcReplyBody> {
    const timeout = Math.max(1, timeoutMs);
    const attributes = { 'rpc.system.name': 'nats', 'rpc.method': subject };
    const span = startSpan(subject, { kind: SpanKind.CLIENT, parent: currentContext()?.traceparent, attributes });
    return endAfter(span, async () => {
      try {
        const headers = requestHeaders(timeout, span);
        const message = await this.link.connection.request(subject, body, { timeout, headers });
        return await decodeReply(message.data);
      } catch (error) {
        throw unavailable(subject, error);
      }
    });
  }
}

/** @throws the last error, when there is no reply at all */
async function firstReply(requests: readonly Promise<RpcReplyBody>[]): Promise<RpcReplyBody> {
  try {
    return await Promise.any(requests);
  } catch (error) {
    throw (error as AggregateError).errors.at(-1);
  }
}

const unavailable = (subject: string, cause: unknown): UnavailableError =>
  new UnavailableError(undefined, { cause, retryAfterSeconds: 1, logDetails: { rpc: subject } });

function requestHeaders(timeoutMs: number, span: Span): MsgHdrs {
  const sent = headers();
  sent.set(TIMEOUT_HEADER, String(timeoutMs));
  const context = currentContext();
  if (context) sent.set(REQUEST_ID_HEADER, context.requestId);
  const traceparent = traceparentOf(span);
  if (traceparent !== undefined) sent.set(TRACEPARENT_HEADER, traceparent);
  return sent;
}
