import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestDeadline } from './request-deadline.js';

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
  /** Absent for messages and jobs, which nobody waits for. */
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
