import type { IncomingHttpHeaders } from 'node:http';
import { Client, type Dispatcher } from 'undici';
import { asOutboundError, OutboundFailed, OutboundTimeout } from './outbound.errors.js';

export interface OutboundResponse {
  status: number;
  /** Names in lower case. */
  headers: IncomingHttpHeaders;
  /** At most `maxResponseBytes`. */
  body: Buffer;
  /** The body was larger than `maxResponseBytes`; the connection was closed. */
  truncated: boolean;
}

export interface ExchangeLimits {
  /** Remaining time for the whole exchange, in milliseconds. */
  remainingMs: number;
  /** Time limit of the request, for the error message. */
  timeoutMs: number;
  maxResponseBytes: number;
}

const NOTHING = Buffer.alloc(0);
/** Statuses without a body, so that a `Content-Length` says nothing about the response. */
const BODILESS = new Set([204, 304]);

/** A request that fails within this time without any response data most likely used a connection that was being closed. */
const STALE_MS = 1_000;
const CONNECTION_LOST = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

interface ExchangeRequest extends Dispatcher.DispatchOptions {
  /** The connection that sends the request; set by that connection. */
  connection?: CountingClient;
}

/** A connection of a pool that counts the responses it has received since it was opened. */
export class CountingClient extends Client {
  responses = 0;

  constructor(origin: URL, options: Client.Options) {
    super(origin, options);
    this.on('connect', () => (this.responses = 0));
  }

  override dispatch(request: ExchangeRequest, handler: Dispatcher.DispatchHandler): boolean {
    request.connection = this;
    return super.dispatch(request, handler);
  }
}

/**
 * Sends one request and reads its response within one time limit. When the other side closed a kept-alive connection at
 * the moment it was reused, the request is sent once more on another connection; after a failure on a new connection it
 * is not, because then the receiver may have handled it.
 * Uses `dispatch` instead of `request`, which would create a stream for a body of a kilobyte.
 * @throws OutboundTimeout, OutboundFailed
 */
export function exchange(
  dispatcher: Dispatcher,
  request: ExchangeRequest,
  limits: ExchangeLimits,
): Promise<OutboundResponse> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const send = (handler: ExchangeHandler) => {
      try {
        dispatcher.dispatch(request, handler);
      } catch (error) {
        handler.fail(error);
      }
    };
    const retry = () => {
      const remainingMs = limits.remainingMs - (performance.now() - startedMs);
      send(new ExchangeHandler(request, { ...limits, remainingMs }, resolve, reject, null));
    };
    send(new ExchangeHandler(request, limits, resolve, reject, retry));
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  private readonly timer: NodeJS.Timeout;
  private readonly chunks: Buffer[] = [];
  private controller: Dispatcher.DispatchController | undefined;
  private sentMs = 0;
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  private bytes = 0;
  private isSettled = false;
  private isReused = false;

  constructor(
    private readonly request: ExchangeRequest,
    private readonly limits: ExchangeLimits,
    private readonly resolve: (response: OutboundResponse) => void,
    private readonly reject: (error: Error) => void,
    /** Sends the request again; null once the single retry has been used. */
    private readonly retry: (() => void) | null,
  ) {
    // Response data does not extend the time limit: a receiver that sends single bytes is cut off as well.
    this.timer = setTimeout(() => this.abandon(new OutboundTimeout(limits.timeoutMs)), limits.remainingMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    this.sentMs = performance.now();
    this.isReused = (this.request.connection?.responses ?? 0) > 0;
    // The time limit passed while the request waited for a connection.
    if (this.isSettled) controller.abort(new OutboundTimeout(this.limits.timeoutMs));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isSettled) return;
    const room = this.limits.maxResponseBytes - this.bytes;
    this.chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.bytes += Math.min(chunk.length, room);
    if (chunk.length <= room) return;
    this.complete(true);
    this.controller?.abort(new Error('the response is larger than maxResponseBytes'));
  }

  onResponseEnd(): void {
    if (this.request.connection) this.request.connection.responses += 1;
    this.complete(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    const failure = asOutboundError(error);
    if (this.isComplete(failure)) {
      this.complete(false);
    } else if (this.retry && this.isStaleConnection(failure)) {
      if (this.settle()) this.retry();
    } else {
      this.abandon(failure);
    }
  }

  /** undici refuses a status without a body that has a `Content-Length`, although its response was complete. */
  private isComplete(failure: Error): boolean {
    if (!BODILESS.has(this.status)) return false;
    return failure instanceof OutboundFailed && failure.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
  }

  private isStaleConnection(failure: Error): boolean {
    const isLost = failure instanceof OutboundFailed && failure.code !== null && CONNECTION_LOST.has(failure.code);
    return isLost && this.isReused && this.status === 0 && performance.now() - this.sentMs < STALE_MS;
  }

  private complete(truncated: boolean): void {
    if (!this.settle()) return;
    const [first = NOTHING] = this.chunks;
    const body = this.chunks.length > 1 ? Buffer.concat(this.chunks, this.bytes) : first;
    this.resolve({ status: this.status, headers: this.headers, body, truncated });
  }

  private abandon(error: Error): void {
    if (!this.settle()) return;
    this.reject(error);
    if (this.controller && !this.controller.aborted) this.controller.abort(error);
  }

  private settle(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    clearTimeout(this.timer);
    return true;
  }
}
