import type { IncomingMessage, ServerResponse } from 'node:http';

/** What the pipeline adds to a request, for guards and handlers: `@Req() request: KitRequest`. */
export interface KitRequest extends IncomingMessage {
  requestId: string;
  /** After trusted proxies; undefined when the socket is already gone. @see CONTRACT.md 1.7 */
  clientAddress?: string;
  /** True when the client spoke HTTPS to us or to a trusted proxy. */
  secure: boolean;
  /** Path without query string. */
  pathname: string;
  body?: unknown;
  /** The bytes of a body that was read. */
  rawBody?: Buffer;
  /** Express, once a route matched. */
  route?: { path?: unknown };
  originalUrl?: string;
}

/** One request from its first byte to its last. */
export interface InFlight {
  request: KitRequest;
  /** Milliseconds of `performance.now()`. */
  startedAt: number;
  /** When the handler has waited too long; infinite until the body is read. */
  deadlineAt: number;
}

export interface KitResponse extends ServerResponse {
  inFlight?: InFlight;
}
