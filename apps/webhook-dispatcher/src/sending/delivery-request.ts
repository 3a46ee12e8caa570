import type { Subscription } from '../subscriptions/subscription.js';
import type { HeldDelivery } from './held-delivery.js';
import { signBody } from './sign-body.js';

export const USER_AGENT = 'Service-Webhooks/1.0';

/**
 * The headers of one attempt: the standard ones, then the webhook's own, which can neither replace nor double them.
 * @param attemptMs  when the attempt begins, Unix milliseconds: the one time of both timestamp headers
 * @see SPEC.md 6.2
 */
export function deliveryHeaders(
  { secret, headers }: Pick<Subscription, 'secret' | 'headers'>,
  { id, eventId, eventType }: Pick<HeldDelivery, 'id' | 'eventId' | 'eventType'>,
  body: string,
  attemptMs: number,
): Record<string, string> {
  const all: Record<string, string> = {
    'Content-Type': 'application/json',
    'User-Agent': USER_AGENT,
    'X-Service-Delivery-Id': id,
    'X-Service-Event-Id': eventId,
    'X-Service-Event-Type': eventType,
    'X-Service-Timestamp': String(attemptMs),
  };
  if (secret) {
    all['X-Service-Signature'] = signBody(secret, attemptMs, body);
  }
  all['X-Service-Signature-Timestamp'] = String(attemptMs);
  for (const { key, value } of headers) all[key] = value;
  return all;
}
