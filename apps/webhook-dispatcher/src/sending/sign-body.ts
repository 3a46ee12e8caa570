import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** A webhook's secret, ready to sign with: made once per version of its row. */
export interface SigningKeys {
  /** For `X-Service-Signature`: the secret's text, all of it. */
  readonly own: KeyObject;
  /** For `webhook-signature`: null where the webhook does not ask for the headers of Standard Webhooks. */
  readonly standard: KeyObject | null;
}

const STANDARD_PREFIX = 'whsec_';
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

export const signingKeys = (secret: string, standardWebhooks: boolean): SigningKeys => ({
  own: createSecretKey(secret, 'utf8'),
  standard: standardWebhooks ? createSecretKey(standardKeyBytes(secret)) : null,
});

/**
 * The key a verifier of Standard Webhooks derives from a secret: behind `whsec_` base64, or base64url, with or without
 * padding; every other text stands for its own UTF-8 bytes (`format: "raw"` of the verifiers).
 */
export function standardKeyBytes(secret: string): Buffer {
  const encoded = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : '';
  const isBase64 = BASE64.test(encoded) && encoded.replace(/=+$/, '').length % 4 !== 1;
  return isBase64 ? Buffer.from(encoded, 'base64') : Buffer.from(secret, 'utf8');
}

/**
 * The value of `X-Service-Signature`: HMAC-SHA256 of `<timestamp>.<body>`, hex, behind `sha256=`.
 * @param timestampMs  the value of `X-Service-Signature-Timestamp`, milliseconds
 * @param body  the exact text that is sent
 * @see SPEC.md 6.3
 */
export function signBody(secret: KeyObject, timestampMs: number, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestampMs}.`).update(body, 'utf8').digest('hex')}`;
}

/**
 * One signature of `webhook-signature`: HMAC-SHA256 of `<id>.<timestamp>.<body>`, base64, behind `v1,`.
 * @param id  the value of `webhook-id`
 * @param timestampSeconds  the value of `webhook-timestamp`
 * @see https://www.standardwebhooks.com
 */
export function signStandard(key: KeyObject, id: string, timestampSeconds: number, body: string): string {
  const hmac = createHmac('sha256', key).update(`${id}.${timestampSeconds}.`).update(body, 'utf8');
  return `v1,${hmac.digest('base64')}`;
}
