import type { SerializedError } from '@rmm/service-kit';

export const REQUEST_ID_HEADER = 'X-Request-Id';
export const TRACEPARENT_HEADER = 'traceparent';

/** What a service answers: a value, or an error of which nothing internal is told. */
export interface RpcReply {
  value?: unknown;
  error?: SerializedError;
}
