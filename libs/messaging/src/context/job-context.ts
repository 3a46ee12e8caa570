import { currentContext, runInContext } from '@rmm/service-kit';
import { randomUUID } from 'node:crypto';
import { childTraceparent } from './trace.js';

/** What the data of every BullMQ job carries beside its ids. */
export interface JobContext {
  requestId: string;
  traceparent?: string;
}

/** Spread into job data: `queue.add('retry', { deliveryId, ...jobContext() })`. */
export function jobContext(): JobContext {
  const context = currentContext();
  return { requestId: context?.requestId ?? randomUUID(), traceparent: context?.traceparent };
}

/** Runs a processor in the context its job was queued in; a job from elsewhere gets a context of its own. */
export function runJob<T>(data: Partial<JobContext>, work: () => T): T {
  return runInContext(
    { requestId: data.requestId ?? randomUUID(), traceparent: data.traceparent && childTraceparent(data.traceparent) },
    work,
  );
}
