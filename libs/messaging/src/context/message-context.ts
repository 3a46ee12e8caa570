import type { Envelope } from '@rmm/contracts';
import { runInContext } from '@rmm/service-kit';
import { AsyncLocalStorage } from 'node:async_hooks';
import { childTraceparent } from './trace.js';

const consumers = new AsyncLocalStorage<string>();

/** The durable consumer whose message is being handled; undefined outside of one. */
export const currentConsumer = (): string | undefined => consumers.getStore();

/**
 * Runs the handling of a message under the correlation id and trace of whatever caused it.
 * @param consumer  the durable it came through; the inbox remembers effects by it
 */
export function withMessageContext<T>(envelope: Envelope, work: () => T, consumer?: string): T {
  const context = {
    requestId: envelope.correlationId ?? envelope.id,
    traceparent: envelope.traceparent && childTraceparent(envelope.traceparent),
  };
  return runInContext(context, () => (consumer === undefined ? work() : consumers.run(consumer, work)));
}
