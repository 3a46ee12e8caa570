import type { SerializedError } from '@rmm/service-kit';

export const REQUEST_ID_HEADER = 'X-Request-Id';
export const TRACEPARENT_HEADER = 'traceparent';

/** The body of a reply: a value, or an error without its cause and log details. */
export interface RpcReplyBody {
  value?: unknown;
  error?: SerializedError;
}
