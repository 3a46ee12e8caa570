import type { Subscription } from '../subscriptions/subscription.js';
import type { LeasedDelivery } from './leased-delivery.js';
import { signBody, type SigningKeys, signStandard } from './sign-body.js';

export const USER_AGENT = 'Service-Webhooks/1.0';

/**
 * The headers of one attempt: the standard ones, then the webhook's own, which can neither replace nor double them.
 * @param attemptMs  when the attempt begins, Unix milliseconds: the one time of all timestamp headers, and the time by
 *   which a previous secret signs or no longer does
 * @see SPEC.md 6.2, CONTRACT.md 4.9
 */
export function deliveryHeaders(
  {
    secret,
    previousSecret,
    standardWebhooks,
    headers,
  }: Pick<Subscription, 'secret' | 'previousSecret' | 'standardWebhooks' | 'headers'>,
  { id, eventId, eventType }: Pick<LeasedDelivery, 'id' | 'eventId' | 'eventType'>,
  body: string,
  attemptMs: number,
): Record<string, string> {
  const previous = previousSecret !== null && attemptMs < previousSecret.untilMs ? previousSecret : null;
  const all: Record<string, string> = {
    'Content-Type': 'application/json',
    'User-Agent': USER_AGENT,
    'X-Service-Delivery-Id': id,
    'X-Service-Event-Id': eventId,
    'X-Service-Event-Type': eventType,
    'X-Service-Timestamp': String(attemptMs),
  };
  if (secret) all['X-Service-Signature'] = signBody(secret.own, attemptMs, body);
  all['X-Service-Signature-Timestamp'] = String(attemptMs);
  if (previous) all['X-Service-Signature-Previous'] = signBody(previous.own, attemptMs, body);
  if (standardWebhooks) {
    const seconds = Math.floor(attemptMs / 1_000);
    // The event's id, not the delivery's: it stays the same when a delivery is retried by hand or recovered.
    all['webhook-id'] = eventId;
    all['webhook-timestamp'] = String(seconds);
    const signatures = standardSignatures([secret, previous], eventId, seconds, body);
    if (signatures !== '') all['webhook-signature'] = signatures;
  }
  for (const { key, value } of headers) all[key] = value;
  return all;
}

/** Separated by spaces, the current secret's first. */
function standardSignatures(
  secrets: readonly (SigningKeys | null)[],
  id: string,
  timestampSeconds: number,
  body: string,
): string {
  return secrets
    .flatMap((secret) => (secret?.standard ? [signStandard(secret.standard, id, timestampSeconds, body)] : []))
    .join(' ');
}
