import { fail, type Span, SpanKind, startSpan } from '@rmm/tracing';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import type { Outcome, QueuedDelivery } from './queued-delivery.js';

/** Starts the span of an attempt in the trace of the call that caused the event. */
export const startAttemptSpan = ({ webhookId, origin }: Subscription, delivery: QueuedDelivery): Span =>
  startSpan('POST webhook', {
    kind: SpanKind.CLIENT,
    parent: delivery.traceparent,
    attributes: {
      'http.request.method': 'POST',
      'http.request.resend_count': delivery.attempt,
      'server.address': origin,
      'rmm.webhook_id': webhookId,
      'rmm.delivery_id': delivery.id,
      'rmm.event_type': delivery.eventType,
      'rmm.partner_id': delivery.partnerId,
    },
  });

export function endAttemptSpan(span: Span, { status, responseStatus }: Outcome): void {
  if (responseStatus !== null) span.setAttribute('http.response.status_code', responseStatus);
  if (status !== 'delivered') fail(span, responseStatus === null ? 'no_response' : String(responseStatus));
  span.end();
}
