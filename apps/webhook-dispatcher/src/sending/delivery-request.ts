import type { Subscription } from '../subscriptions/subscription.mapper.js';
import type { QueuedDelivery } from './delivery.types.js';
import { signBody, type SigningKeys, signStandard } from './sign-body.js';

export const USER_AGENT = 'Service-Webhooks/1.0';

/**
 * Returns the headers of one attempt: the standard ones, then the custom ones, which cannot replace or repeat them.
 * @param attemptMs  when the attempt starts, Unix milliseconds: the time of all timestamp headers, and the time that
 *   decides whether the previous secret signs
 * @see docs/reference/webhooks.md
 */
export function deliveryHeaders(
  {
    secret,
    previousSecret,
    standardWebhooks,
    headers,
  }: Pick<Subscription, 'secret' | 'previousSecret' | 'standardWebhooks' | 'headers'>,
  { id, eventId, eventType }: Pick<QueuedDelivery, 'id' | 'eventId' | 'eventType'>,
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
  if (secret) all['X-Service-Signature'] = signBody(secret.key, attemptMs, body);
  all['X-Service-Signature-Timestamp'] = String(attemptMs);
  if (previous) all['X-Service-Signature-Previous'] = signBody(previous.key, attemptMs, body);
  if (standardWebhooks) {
    const seconds = Math.floor(attemptMs / 1_000);
    // The id of the event stays the same when a delivery is retried manually or recovered; that of the delivery changes.
    all['webhook-id'] = eventId;
    all['webhook-timestamp'] = String(seconds);
    const signatures = standardSignatures([secret, previous], eventId, seconds, body);
    if (signatures !== '') all['webhook-signature'] = signatures;
  }
  for (const { key, value } of headers) all[key] = value;
  return all;
}

/** Returns the signatures separated by spaces, that of the current secret first. */
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
