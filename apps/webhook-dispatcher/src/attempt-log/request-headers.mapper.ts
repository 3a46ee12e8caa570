import { USER_AGENT } from '../sending/delivery-request.js';
import type { WebhookHeader } from '../webhooks/webhook-headers.policy.js';
import { MASK, maskHeaderValue } from '../webhooks/webhook-masking.policy.js';
import type { LoggedDelivery } from './attempt-log.repository.js';

/**
 * Restores the headers of a request: standard ones from the delivery and the time of the attempt, custom ones from the
 * shape of the request. Signatures and values whose names suggest secrets are masked.
 * @param customHeaders  the webhook's headers, opened; the value of an absent one is masked
 */
export function restoreRequestHeaders(
  names: readonly string[],
  customHeaders: readonly WebhookHeader[],
  { id, eventId, eventType }: Pick<LoggedDelivery, 'id' | 'eventId' | 'eventType'>,
  startedAt: Date,
): WebhookHeader[] {
  const attemptMs = startedAt.getTime();
  const values = new Map([
    ...customHeaders.map(({ key, value }) => [key.toLowerCase(), maskHeaderValue(key, value)] as const),
    ['content-type', 'application/json'],
    ['user-agent', USER_AGENT],
    ['x-service-delivery-id', id],
    ['x-service-event-id', eventId],
    ['x-service-event-type', eventType],
    ['x-service-timestamp', String(attemptMs)],
    ['x-service-signature-timestamp', String(attemptMs)],
    // Only with Standard Webhooks; otherwise a custom header may have these names.
    ...(names.includes('webhook-id')
      ? ([
          ['webhook-id', eventId],
          ['webhook-timestamp', String(Math.floor(attemptMs / 1_000))],
        ] as const)
      : []),
  ]);
  return names.map((key) => ({ key, value: values.get(key.toLowerCase()) ?? MASK }));
}
