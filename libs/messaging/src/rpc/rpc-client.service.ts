import { Injectable } from '@nestjs/common';
import { headers, type MsgHdrs } from 'nats';
import type { RpcContract } from '@rmm/contracts';
import { currentContext, deserializeError, UnavailableError } from '@rmm/service-kit';
import { NatsLink } from '../connection/nats-link.service.js';
import { childTraceparent } from '../context/traceparent.js';
import { REQUEST_ID_HEADER, TIMEOUT_HEADER, TRACEPARENT_HEADER, type RpcReplyBody } from './rpc-wire.js';

export interface RpcOptions {
  /** Overrides the time limit of the contract. */
  timeoutMs?: number;
}

/** Calls other services over core NATS. Every call ends with the reply, the error of the other side, or 503. */
@Injectable()
export class RpcClient {
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
    const reply = await this.send(contract.subject, request, Math.min(timeoutMs, remainingMs));
    if (reply.error !== undefined) throw deserializeError(reply.error);
    return (reply.value ?? null) as Reply;
  }

  private async send(subject: string, request: unknown, timeout: number): Promise<RpcReplyBody> {
    try {
      const message = await this.link.connection.request(subject, JSON.stringify(request ?? null), {
        timeout,
        headers: requestHeaders(timeout),
      });
      return message.json<RpcReplyBody>();
    } catch (error) {
      throw unavailable(subject, error);
    }
  }
}

const unavailable = (subject: string, cause: unknown): UnavailableError =>
  new UnavailableError(undefined, { cause, retryAfterSeconds: 1, logDetails: { rpc: subject } });

function requestHeaders(timeoutMs: number): MsgHdrs {
  const sent = headers();
  sent.set(TIMEOUT_HEADER, String(timeoutMs));
  const context = currentContext();
  if (!context) return sent;
  sent.set(REQUEST_ID_HEADER, context.requestId);
  if (context.traceparent) sent.set(TRACEPARENT_HEADER, childTraceparent(context.traceparent));
  return sent;
}
