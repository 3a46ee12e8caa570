import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '@rmm/tracing';

/** The request that guards and handlers get: `@Req() request: KitRequest`. */
export interface KitRequest extends IncomingMessage {
  requestId: string;
  /** The span of the whole request. */
  span?: Span;
  /** The `traceparent` of this span; undefined without a trace. */
  traceparent?: string;
  /** After trusted proxies; undefined when the socket is already closed. */
  clientAddress?: string;
  /** True when the client used HTTPS to us or to a trusted proxy; set by Express. */
  readonly secure: boolean;
  /** Path without query string. */
  pathname: string;
  body?: unknown;
  /** The bytes of a body that was read. */
  rawBody?: Buffer;
  /** Parses a body of `json-later` that was read. */
  parseBody?: () => void;
  /** Set by Express once a route matched. */
  route?: { path?: unknown };
  originalUrl?: string;
}

/** The authenticated caller as logs and rate limits see it; set by the access guard. */
export interface RequestCaller {
  readonly actor: { readonly type: string; readonly id: string | null };
  readonly partnerId: string | null;
  readonly orgId: string | null;
  /** Set for users only. */
  readonly userId?: string;
}

/** A request after the access guard. */
export interface AuthenticatedRequest extends KitRequest {
  caller?: RequestCaller;
}

export interface KitResponse extends ServerResponse {
  /** The code of the error that was written, for the access log. */
  errorCode?: string;
  /** Called by the error filter with the error of a handler. */
  onFailure?: (error: unknown) => void;
}
