import { resample } from './sampling.js';
import { type Span, SpanKind, SpanStatusCode, startSpan } from './spans.js';

/** The outcome of a request, and whose it was. */
export interface ServerSpanOutcome {
  method: string;
  /** The pattern of the route; undefined for an unknown path. */
  route: string | undefined;
  status: number;
  errorCode: string | undefined;
  partnerId: string | undefined;
  orgId: string | undefined;
}

/** Starts the span of a request. @param traceparent  the header of the client, whose sampling decision does not count */
export function startServerSpan(method: string, traceparent: string | undefined, requestId: string): Span {
  const attributes = { 'http.request.method': method, 'rmm.request_id': requestId };
  return startSpan(method, { kind: SpanKind.SERVER, parent: resample(traceparent), attributes });
}

/** Ends the span of a request. It names the route, not the path, which may contain tokens. */
export function endServerSpan(span: Span, outcome: ServerSpanOutcome): void {
  if (span.isRecording()) {
    const { method, route, status, errorCode, partnerId, orgId } = outcome;
    if (route !== undefined) span.updateName(`${method} ${route}`).setAttribute('http.route', route);
    span.setAttribute('http.response.status_code', status);
    if (errorCode !== undefined) span.setAttribute('error.type', errorCode);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    if (partnerId !== undefined) span.setAttribute('rmm.partner_id', partnerId);
    if (orgId !== undefined) span.setAttribute('rmm.org_id', orgId);
  }
  span.end();
}
