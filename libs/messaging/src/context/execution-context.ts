import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Envelope } from '@rmm/contracts';
import { currentContext, runInContext } from '@rmm/service-kit';
import { endAfter, isSampled, type Span, SpanKind, startSpan, traceparentOf } from '@rmm/tracing';

const consumers = new AsyncLocalStorage<string>();

/** Returns the durable consumer whose message is being handled; undefined outside of one. */
export const currentConsumer = (): string | undefined => consumers.getStore();

/** Runs work under the correlation id and trace of the call that caused a message. */
export function withMessageContext<T>({ id, correlationId, traceparent }: Envelope, work: () => T): T {
  return runInContext({ requestId: correlationId ?? id, traceparent }, work);
}

/**
 * Handles a message under its correlation id and in a span of its trace.
 * @param consumer  the durable consumer it came through; the inbox stores effects under this name
 */
export function handleInContext<T>(envelope: Envelope, consumer: string, work: () => Promise<T>): Promise<T> {
  const span = startHandling(envelope, consumer);
  const handled = { ...envelope, traceparent: traceparentOf(span) };
  return withMessageContext(handled, () => consumers.run(consumer, () => endAfter(span, work)));
}

/** Handles a batch under the correlation id of its first message, and in a span of the trace of each message. */
export function handleBatchInContext<T>(
  [first, ...others]: readonly [Envelope, ...Envelope[]],
  consumer: string,
  work: () => Promise<T>,
): Promise<T> {
  const recorded = others.filter(({ traceparent }) => isSampled(traceparent));
  const inSpans = recorded.reduce<() => Promise<T>>(
    (inner, envelope) => () => endAfter(startHandling(envelope, consumer), inner),
    work,
  );
  return handleInContext(first, consumer, inSpans);
}

const startHandling = (envelope: Envelope, consumer: string): Span =>
  startSpan(`process ${envelope.type}`, {
    kind: SpanKind.CONSUMER,
    parent: envelope.traceparent,
    attributes: {
      'messaging.system': 'nats',
      'messaging.operation.type': 'process',
      'messaging.consumer.group.name': consumer,
      'messaging.message.id': envelope.id,
    },
  });

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

/** Runs the processor of a job in the context stored in it, in a span; a job without one gets a new request id. */
export function runJob<T>(name: string, data: Partial<JobContext>, work: () => Promise<T>): Promise<T> {
  const span = startSpan(`process ${name}`, { kind: SpanKind.CONSUMER, parent: data.traceparent });
  const context = { requestId: data.requestId ?? randomUUID(), traceparent: traceparentOf(span) };
  return runInContext(context, () => endAfter(span, work));
}
