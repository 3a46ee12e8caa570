import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import { parseTraceparent } from './traceparent.js';

export { type Attributes, type Span, SpanKind, SpanStatusCode };

export interface SpanOptions {
  kind: SpanKind;
  /** The `traceparent` of the parent; a new trace begins without one. */
  parent: string | undefined;
  attributes?: Attributes;
}

const tracer = trace.getTracer('rmm');

/** Starts a span. While tracing is off the span is that of its parent, so that a trace of the caller passes through. */
export function startSpan(name: string, { kind, parent, attributes }: SpanOptions): Span {
  const context = parseTraceparent(parent);
  const parentContext = context === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, context);
  return tracer.startSpan(name, { kind, attributes }, parentContext);
}

/**
 * Returns the `traceparent` of a client with a sampling decision of our own: otherwise any client could have all of its
 * requests recorded.
 */
export function resample(traceparent: string | undefined, ratio: number): string | undefined {
  const context = parseTraceparent(traceparent);
  if (context === undefined) return undefined;
  const flags = Math.random() < ratio ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return `00-${context.traceId}-${context.spanId}-0${flags}`;
}

/** Runs work and ends its span: with an error status when the work fails. */
export async function endAfter<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    fail(span, error instanceof Error ? error.name : typeof error);
    throw error;
  } finally {
    span.end();
  }
}

/** Gives a span an error status. @param type  a code or the name of a class: messages may contain what tenants sent */
export function fail(span: Span, type: string): void {
  if (!span.isRecording()) return;
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
