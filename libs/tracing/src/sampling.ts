import { type SpanContext, TraceFlags } from '@opentelemetry/api';
import { RandomIdGenerator } from '@opentelemetry/sdk-trace';
import { parseTraceparent } from './traceparent.js';

const ids = new RandomIdGenerator();
/** The share of traces that this process records; undefined while tracing is off. */
let ratio: number | undefined;

/** @param share  0 to 1; undefined turns tracing off */
export function setSampleRatio(share: number | undefined): void {
  ratio = share;
}

/** Decides on a new trace. Returns its ids when it is not recorded; undefined when it is, and while tracing is off. */
export function beginUnrecorded(): SpanContext | undefined {
  if (ratio === undefined || isRecorded(ratio)) return undefined;
  return { traceId: ids.generateTraceId(), spanId: ids.generateSpanId(), traceFlags: TraceFlags.NONE };
}

/**
 * Returns the `traceparent` of a client with a sampling decision of our own: otherwise any client could have all of its
 * requests recorded. While tracing is off it is returned as it is.
 * @see https://www.w3.org/TR/trace-context/#mutating-the-traceparent-field
 */
export function resample(traceparent: string | undefined): string | undefined {
  if (ratio === undefined) return traceparent;
  const context = parseTraceparent(traceparent);
  if (context === undefined) return undefined;
  if (isRecorded(ratio)) return `00-${context.traceId}-${context.spanId}-01`;
  return `00-${context.traceId}-${ids.generateSpanId()}-00`; // a changed decision needs a new parent id
}

const isRecorded = (share: number): boolean => Math.random() < share;
