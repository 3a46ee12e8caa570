import { createHmac, timingSafeEqual } from 'node:crypto';
import type { components } from './generated/events.js';

export type EventType = keyof components['schemas'];

/** The data of an event, which may have further fields. */
export type EventData<Type extends EventType> = components['schemas'][Type];

/** A delivery to a webhook; `type` selects the type of `data`. */
export type WebhookEvent<Type extends EventType = EventType> = {
  [Each in Type]: {
    /** The same in every delivery of the event: store it to recognize repeats. */
    id: string;
    type: Each;
    timestamp: string;
    orgId: string;
    data: EventData<Each>;
  };
}[Type];

export interface SignedRequest {
  /** The body exactly as it arrived; parsed and printed again it is another text. */
  body: string | Uint8Array;
  headers: Headers | Readonly<Record<string, string | string[] | undefined>>;
}

export interface VerificationOptions {
  /** Tolerated difference between the time of the signature and the clock, either way; 5 minutes by default. */
  toleranceMs?: number;
  nowMs?: number;
}

/** The request was not signed with the secret, or too long ago. Respond 401. */
export class InvalidWebhookSignature extends Error {
  override readonly name = 'InvalidWebhookSignature';
}

const SIGNATURES = ['x-service-signature', 'x-service-signature-previous'];

/**
 * Returns whether a request was signed with the secret of the webhook. While two secrets overlap after a rotation,
 * either of them verifies.
 */
export function isValidSignature(
  { body, headers }: SignedRequest,
  secret: string,
  { toleranceMs = 300_000, nowMs = Date.now() }: VerificationOptions = {},
): boolean {
  const timestamp = headerOf(headers, 'x-service-signature-timestamp');
  if (!/^[0-9]{1,15}$/.test(timestamp)) return false;
  if (Math.abs(nowMs - Number(timestamp)) > toleranceMs) return false;
  const digest = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
  const expected = Buffer.from(`sha256=${digest}`);
  return SIGNATURES.some((name) => {
    const given = Buffer.from(headerOf(headers, name));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** Verifies a request and returns its event. @throws InvalidWebhookSignature, SyntaxError for a body that is not JSON */
export function verifyWebhook(request: SignedRequest, secret: string, options?: VerificationOptions): WebhookEvent {
  if (!isValidSignature(request, secret, options)) throw new InvalidWebhookSignature('The signature is not valid');
  const { body } = request;
  return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString('utf8')) as WebhookEvent;
}

function headerOf(headers: SignedRequest['headers'], name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? '';
  const entry = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return Array.isArray(entry) ? entry.join(', ') : (entry ?? '');
}
