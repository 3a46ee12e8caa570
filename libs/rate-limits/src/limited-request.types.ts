import type { IncomingMessage } from 'node:http';

/** The properties of a request that limits read. */
export interface LimitedRequest extends IncomingMessage {
  /** Path without query string. */
  pathname: string;
  /** After trusted proxies; undefined when the socket is already closed. */
  clientAddress?: string;
  /** Parses a body whose parsing waits for the concurrency limit. */
  parseBody?: () => void;
  /** Set by the access guard; `userId` for users only. */
  caller?: { readonly partnerId: string | null; readonly orgId: string | null; readonly userId?: string };
}
