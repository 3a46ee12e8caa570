import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Envelope } from '@rmm/contracts';
import { currentContext, runInContext } from '@rmm/service-kit';
import { childTraceparent } from './traceparent.js';

const consumers = new AsyncLocalStorage<string>();

/** Returns the durable consumer whose message is being handled; undefined outside of one. */
export const currentConsumer = (): string | undefined => consumers.getStore();

/**
 * Handles a message under the correlation id and trace of the call that caused it.
 * @param consumer  the durable consumer it came through; the inbox stores effects under this name
 */
export function withMessageContext<T>(envelope: Envelope, work: () => T, consumer?: string): T {
  const context = {
    requestId: envelope.correlationId ?? envelope.id,
    traceparent: envelope.traceparent && childTraceparent(envelope.traceparent),
  };
  return runInContext(context, () => (consumer === undefined ? work() : consumers.run(consumer, work)));
}

/** Part of the data of every BullMQ job. */
export interface JobContext {
  requestId: string;
  traceparent?: string;
}

/** Returns the context to store in the data of a job: `queue.add('retry', { deliveryId, ...jobContext() })`. */
export function jobContext(): JobContext {
  const context = currentContext();
  return { requestId: context?.requestId ?? randomUUID(), traceparent: context?.traceparent };
}

/** Runs a processor in the context stored in its job; a job without one gets a new request id. */
export function runJob<T>(data: Partial<JobContext>, work: () => T): T {
  return runInContext(
    { requestId: data.requestId ?? randomUUID(), traceparent: data.traceparent && childTraceparent(data.traceparent) },
    work,
  );
}
