import type { IncomingMessage, ServerResponse } from 'node:http';

/** The authenticated caller as logs and rate limits see it; set by the access guard. */
export interface RequestCaller {
  readonly actor: { readonly type: string; readonly id: string | null };
  readonly partnerId: string | null;
  readonly orgId: string | null;
  /** Set for users only. */
  readonly userId?: string;
}

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

/** A request after the access guard. */
export interface AuthenticatedRequest extends KitRequest {
  caller?: RequestCaller;
}
