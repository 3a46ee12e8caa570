import { type Span, type SpanContext, isSpanContextValid, TraceFlags } from '@opentelemetry/api';

const FORM = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/**
 * Reads a W3C `traceparent`; undefined unless it is of version 00 with ids that are not all zeros.
 * @see https://www.w3.org/TR/trace-context/
 */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const match = text === undefined ? null : FORM.exec(text);
  if (!match) return undefined;
  const [, traceId, spanId, flags] = match;
  const context = { traceId, spanId, traceFlags: parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}

/** Returns the `traceparent` that makes a span the parent; undefined when there is no trace. */
export function traceparentOf(span: Span): string | undefined {
  const context = span.spanContext();
  if (!isSpanContextValid(context)) return undefined;
  const isSampled = (context.traceFlags & TraceFlags.SAMPLED) !== 0;
  return `00-${context.traceId}-${context.spanId}-${isSampled ? '01' : '00'}`;
}

/** Returns whether the trace of a valid `traceparent` is recorded. */
export const isSampled = (traceparent: string | undefined): boolean => traceparent?.endsWith('1') === true;

/** Returns the trace id of a valid `traceparent`. */
export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.slice(3, 35);
