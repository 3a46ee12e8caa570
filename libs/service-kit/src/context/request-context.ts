import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestDeadline } from './request-deadline.js';

/** A request that carries an idempotency key. */
export interface IdempotentRequest {
  /** Hash of caller, tenant, method, path and key. */
  readonly id: string;
  /** The principal of a key, else the user, for whom the responses that are stored are limited. */
  readonly callerId: string;
  /** SHA-256 of the bytes of the body, in hex. */
  readonly bodyHash: string;
  /** The tenant of the caller, to which the stored response belongs. */
  readonly partnerId: string | null;
  readonly orgId: string | null;
  /** True once the stored response is returned instead of a new one. */
  replayed: boolean;
}

/** The header `If-Match` of a request. */
export interface IfMatchCondition {
  /** The revisions that the tags of the header name; null for `*`, which every stored record matches. */
  readonly revisions: readonly string[] | null;
  /** The fields of the record that are not part of its revision. */
  readonly volatileFields: readonly string[];
}

/** The origin of one request, message or job, for every layer below. */
export interface RequestContext {
  /** The correlation id: header `X-Request-Id`, log field `requestId`, `correlationId` of an envelope. */
  requestId: string;
  /** W3C trace context. */
  traceparent?: string;
  /** The client address after trusted proxies. @see docs/reference/requests.md */
  ipAddress?: string;
  userAgent?: string;
  /** True once an audit row was written; a mutating call without one gets a fallback row. */
  audited?: boolean;
  /** Set by the interceptor of routes that support idempotency keys. */
  idempotency?: IdempotentRequest;
  /** Set by the interceptor of routes that support `If-Match`, for requests with this header. */
  ifMatch?: IfMatchCondition;
  /** Absent for messages and jobs, for which no caller waits. */
  deadline?: RequestDeadline;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Returns the context of the running request, message or job; undefined outside of one. */
export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}

export function runInContext<T>(context: RequestContext, work: () => T): T {
  return storage.run(context, work);
}
