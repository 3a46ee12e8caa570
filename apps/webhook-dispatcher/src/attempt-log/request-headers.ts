import { USER_AGENT } from '../sending/delivery-request.js';
import { MASK, maskHeaderValue } from '../webhooks/webhook-masking.js';
import type { WebhookHeader } from '../webhooks/webhook-headers.js';
import type { LoggedDelivery } from './attempt-log.repository.js';

/**
 * The headers of a request as they were sent, rebuilt: standard ones from the delivery and the attempt's millisecond,
 * the webhook's own from its shape. Signatures and values of headers that are named like secrets are masked.
 * @param own  the webhook's headers, opened; one that is absent is masked
 */
export function requestHeadersOf(
  names: readonly string[],
  own: readonly WebhookHeader[],
  { id, eventId, eventType }: Pick<LoggedDelivery, 'id' | 'eventId' | 'eventType'>,
  startedAt: Date,
): WebhookHeader[] {
  const attemptMs = startedAt.getTime();
  const values = new Map([
    ...own.map(({ key, value }) => [key.toLowerCase(), maskHeaderValue(key, value)] as const),
    ['content-type', 'application/json'],
    ['user-agent', USER_AGENT],
    ['x-service-delivery-id', id],
    ['x-service-event-id', eventId],
    ['x-service-event-type', eventType],
    ['x-service-timestamp', String(attemptMs)],
    ['x-service-signature-timestamp', String(attemptMs)],
    // Only where the webhook asks for the headers of Standard Webhooks: these come before its own of the same name.
    ...(names.includes('webhook-id')
      ? ([
          ['webhook-id', eventId],
          ['webhook-timestamp', String(Math.floor(attemptMs / 1_000))],
        ] as const)
      : []),
  ]);
  return names.map((key) => ({ key, value: values.get(key.toLowerCase()) ?? MASK }));
}
