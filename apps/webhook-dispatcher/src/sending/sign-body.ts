import { createHmac, type KeyObject } from 'node:crypto';

/**
 * The value of `X-Service-Signature`: HMAC-SHA256 of `<timestamp>.<body>`, hex, behind `sha256=`.
 * @param timestampMs  the value of `X-Service-Signature-Timestamp`, milliseconds
 * @param body  the exact text that is sent
 * @see SPEC.md 6.3
 */
export function signBody(secret: KeyObject, timestampMs: number, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestampMs}.`).update(body, 'utf8').digest('hex')}`;
}
