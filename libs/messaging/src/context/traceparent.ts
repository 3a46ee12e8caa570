import { randomBytes } from 'node:crypto';

/** The parts of a W3C `traceparent`. */
export interface TraceParent {
  traceId: string;
  parentId: string;
  sampled: boolean;
}

const FORM = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Reads a `traceparent`; null unless it is version 00 with ids that are not all zeros. */
export function parseTraceparent(text: string | undefined): TraceParent | null {
  const match = FORM.exec(text ?? '');
  if (!match || /^0+$/.test(match[1]) || /^0+$/.test(match[2])) return null;
  return { traceId: match[1], parentId: match[2], sampled: (parseInt(match[3], 16) & 1) === 1 };
}

/** Returns a child span of the trace; a new, unsampled trace when there is none. */
export function childTraceparent(parent: string | undefined): string {
  const known = parseTraceparent(parent);
  const traceId = known?.traceId ?? randomBytes(16).toString('hex');
  return `00-${traceId}-${randomBytes(8).toString('hex')}-${known?.sampled ? '01' : '00'}`;
}
