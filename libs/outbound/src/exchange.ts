import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { asOutboundError, OutboundFailed, OutboundTimeout } from './outbound.errors.js';

export interface OutboundResponse {
  status: number;
  /** Names in lower case. */
  headers: IncomingHttpHeaders;
  /** At most the byte ceiling that was asked for. */
  body: Buffer;
  /** The other side had more to say; its connection was closed. */
  truncated: boolean;
}

export interface ExchangeLimits {
  /** What is left of the time for the whole exchange, in milliseconds. */
  remainingMs: number;
  /** What the error message names. */
  timeoutMs: number;
  maxResponseBytes: number;
}

const NOTHING = Buffer.alloc(0);

/** A request that dies so soon, in milliseconds, without a byte of an answer most likely met a connection just closed. */
const STALE_MS = 1_000;
const LOST = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/**
 * One request and its answer under one deadline. A kept connection may be closed by the other side in the moment it is
 * used: then the request goes out once more, on another one.
 * On `dispatch`, not `request`: no stream is built for a body that is a kilobyte and is read to its end at once.
 * @throws OutboundTimeout, OutboundFailed
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
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
    const onceMore = () => {
      const remainingMs = limits.remainingMs - (performance.now() - startedMs);
      send(new ExchangeHandler({ ...limits, remainingMs }, resolve, reject, null));
    };
    send(new ExchangeHandler(limits, resolve, reject, onceMore));
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #sentMs = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #bytes = 0;
  #isSettled = false;

  constructor(
    private readonly limits: ExchangeLimits,
    private readonly resolve: (response: OutboundResponse) => void,
    private readonly reject: (error: Error) => void,
    /** Sends the request again; null when it has been. */
    private readonly onceMore: (() => void) | null,
  ) {
    // Neither headers nor body nor early hints move this: a dripping receiver does not outlive it.
    this.#timer = setTimeout(() => this.#abandon(new OutboundTimeout(limits.timeoutMs)), limits.remainingMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#sentMs = performance.now();
    // Its time ran out while it waited for a connection.
    if (this.#isSettled) controller.abort(new OutboundTimeout(this.limits.timeoutMs));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    const room = this.limits.maxResponseBytes - this.#bytes;
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.#bytes += Math.min(chunk.length, room);
    if (chunk.length <= room) return;
    this.#answer(true);
    this.#controller?.abort(new Error('the response is over its ceiling'));
  }

  onResponseEnd(): void {
    this.#answer(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    const failure = asOutboundError(error);
    if (this.onceMore && this.#metStaleConnection(failure)) {
      if (this.#settle()) this.onceMore();
    } else {
      this.#abandon(failure);
    }
  }

  #metStaleConnection(failure: Error): boolean {
    const isLost = failure instanceof OutboundFailed && failure.code !== null && LOST.has(failure.code);
    return isLost && this.#status === 0 && this.#sentMs > 0 && performance.now() - this.#sentMs < STALE_MS;
  }

  #answer(truncated: boolean): void {
    if (!this.#settle()) return;
    const [first = NOTHING] = this.#chunks;
    const body = this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.#bytes) : first;
    this.resolve({ status: this.#status, headers: this.#headers, body, truncated });
  }

  #abandon(error: Error): void {
    if (!this.#settle()) return;
    this.reject(error);
    if (this.#controller && !this.#controller.aborted) this.#controller.abort(error);
  }

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    return true;
  }
}
