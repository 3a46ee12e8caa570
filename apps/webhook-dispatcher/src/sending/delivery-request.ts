import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import type { QueuedDelivery } from './queued-delivery.js';

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
  body: Buffer,
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
  body: Buffer,
): string {
  return secrets
    .flatMap((secret) => (secret?.standard ? [signStandard(secret.standard, id, timestampSeconds, body)] : []))
    .join(' ');
}

/** The keys of a webhook's secret, created once per version of its row. */
export interface SigningKeys {
  /** For `X-Service-Signature`: the text of the secret. */
  readonly key: KeyObject;
  /** For `webhook-signature`; null when the webhook does not use the headers of Standard Webhooks. */
  readonly standard: KeyObject | null;
}

const STANDARD_PREFIX = 'whsec_';
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

export const signingKeys = (secret: string, standardWebhooks: boolean): SigningKeys => ({
  key: createSecretKey(secret, 'utf8'),
  standard: standardWebhooks ? createSecretKey(standardKeyBytes(secret)) : null,
});

/**
 * Returns the key that verifiers of Standard Webhooks derive from a secret: base64 or base64url after `whsec_`, with or
 * without padding; otherwise the UTF-8 bytes of the text (`format: "raw"` of the verifiers).
 */
export function standardKeyBytes(secret: string): Buffer {
  const encoded = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : '';
  const isBase64 = BASE64.test(encoded) && encoded.replace(/=+$/, '').length % 4 !== 1;
  return isBase64 ? Buffer.from(encoded, 'base64') : Buffer.from(secret, 'utf8');
}

/**
 * Returns the value of `X-Service-Signature`: `sha256=` and the HMAC-SHA256 of `<timestamp>.<body>` in hex.
 * @param timestampMs  the value of `X-Service-Signature-Timestamp`, milliseconds
 * @param body  the exact bytes that are sent
 * @see docs/reference/webhooks.md
 */
export function signBody(secret: KeyObject, timestampMs: number, body: Buffer): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestampMs}.`).update(body).digest('hex')}`;
}

/**
 * Returns one signature of `webhook-signature`: `v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64.
 * @param id  the value of `webhook-id`
 * @param timestampSeconds  the value of `webhook-timestamp`
 * @see https://www.standardwebhooks.com
 */
export function signStandard(key: KeyObject, id: string, timestampSeconds: number, body: Buffer): string {
  const hmac = createHmac('sha256', key).update(`${id}.${timestampSeconds}.`).update(body);
  return `v1,${hmac.digest('base64')}`;
}
