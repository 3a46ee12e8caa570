import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import { beginUnrecorded } from './sampling.js';
import { parseTraceparent } from './traceparent.js';

export { type Attributes, type Span, SpanKind, SpanStatusCode };

export interface SpanOptions {
  kind: SpanKind;
  /** The `traceparent` of the parent; a new trace begins without one. */
  parent: string | undefined;
  attributes?: Attributes;
}

const tracer = trace.getTracer('rmm');

/**
 * Starts a span. One that is not recorded is that of its parent, or has new ids when it begins a trace: the SDK, which costs
 * microseconds, is called for recorded spans only. While tracing is off a span without a parent has no ids.
 */
export function startSpan(name: string, { kind, parent, attributes }: SpanOptions): Span {
  const context = parseTraceparent(parent) ?? beginUnrecorded();
  if (context === undefined) return tracer.startSpan(name, { kind, attributes }, ROOT_CONTEXT);
  if ((context.traceFlags & TraceFlags.SAMPLED) === 0) return trace.wrapSpanContext(context);
  return tracer.startSpan(name, { kind, attributes }, trace.setSpanContext(ROOT_CONTEXT, context));
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
