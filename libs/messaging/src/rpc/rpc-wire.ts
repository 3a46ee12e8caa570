import type { SerializedError } from '@rmm/service-kit';

export const REQUEST_ID_HEADER = 'X-Request-Id';
export const TRACEPARENT_HEADER = 'traceparent';
/** Milliseconds that the caller waits for the reply. */
export const TIMEOUT_HEADER = 'X-Timeout-Ms';

/** The body of a reply: a value, or an error without its cause and log details. */
export interface RpcReplyBody {
  value?: unknown;
  error?: SerializedError;
}
