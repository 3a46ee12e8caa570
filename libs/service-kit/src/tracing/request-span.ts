import { type Attributes, endAfter, isSampled, SpanKind, startSpan } from '@rmm/tracing';
import { currentContext } from '../context/request-context.js';

/**
 * Runs work that calls another system in a span of the running request, message or job; without a recorded trace it just
 * runs.
 */
export function measureCall<T>(name: string, attributes: () => Attributes, work: () => Promise<T>): Promise<T> {
  const parent = currentContext()?.traceparent;
  if (!isSampled(parent)) return work();
  return endAfter(startSpan(name, { kind: SpanKind.CLIENT, parent, attributes: attributes() }), work);
}
