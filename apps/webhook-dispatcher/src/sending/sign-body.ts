import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

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
 * @param body  the exact text that is sent
 * @see docs/reference/webhooks.md
 */
export function signBody(secret: KeyObject, timestampMs: number, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestampMs}.`).update(body, 'utf8').digest('hex')}`;
}

/**
 * Returns one signature of `webhook-signature`: `v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64.
 * @param id  the value of `webhook-id`
 * @param timestampSeconds  the value of `webhook-timestamp`
 * @see https://www.standardwebhooks.com
 */
export function signStandard(key: KeyObject, id: string, timestampSeconds: number, body: string): string {
  const hmac = createHmac('sha256', key).update(`${id}.${timestampSeconds}.`).update(body, 'utf8');
  return `v1,${hmac.digest('base64')}`;
}
