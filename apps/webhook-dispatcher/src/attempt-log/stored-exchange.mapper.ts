import type { IncomingHttpHeaders } from 'node:http';
import { hashedId } from '../intake/webhook-event.mapper.js';
import { USER_AGENT } from '../sending/delivery-request.js';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import type { WebhookHeader } from '../webhooks/webhook-headers.policy.js';
import { isSecretHeader, MASK, maskHeaderValue, maskUrl } from '../webhooks/webhook-masking.policy.js';
import type { LoggedDelivery } from './attempt-log.repository.js';

const AUTHORIZATION = 'authorization';

/**
 * The headers that the requests of a webhook carry. The shape is the same for all attempts until the headers or secrets of the
 * webhook change, so attempts refer to it instead of storing headers.
 */
export interface RequestShape {
  /** A hash of the other fields, so that every replica gives the same shape the same id. */
  readonly id: string;
  readonly webhookId: string;
  /** The names in the order they were sent. */
  readonly names: readonly string[];
  /** The custom headers of the webhook, values sealed as in its row. */
  readonly headers: readonly WebhookHeader[];
  /** The number of headers the request was created with. */
  readonly headerCount: number;
  /** True once it is in `request_shape`. */
  isStored: boolean;
}

const shapes = new WeakMap<Subscription, RequestShape[]>();

/**
 * Returns the shape of a request that is about to be sent. It is created once per version of a webhook, and once more
 * when the overlap of its secrets ends, which removes a header; the number of headers distinguishes the two.
 */
export function requestShapeOf(subscription: Subscription, sent: Readonly<Record<string, string>>): RequestShape {
  let known = shapes.get(subscription);
  if (!known) shapes.set(subscription, (known = []));
  const names = Object.keys(sent);
  return known.find((shape) => shape.headerCount === names.length) ?? createShape(known, subscription, names);
}

function createShape(
  known: RequestShape[],
  { webhookId, url, sealedHeaders }: Subscription,
  sent: string[],
): RequestShape {
  const names = sendsUrlCredentials(url, sent) ? [...sent, AUTHORIZATION] : sent;
  const id = hashedId(JSON.stringify([webhookId, names, sealedHeaders]));
  const shape = { id, webhookId, names, headers: sealedHeaders, headerCount: sent.length, isStored: false };
  known.push(shape);
  return shape;
}

/** Returns whether the userinfo of the URL is sent as Basic credentials, which a custom header replaces. */
function sendsUrlCredentials(url: string, sent: readonly string[]): boolean {
  const { username, password } = new URL(url);
  return (username !== '' || password !== '') && !sent.some((name) => name.toLowerCase() === AUTHORIZATION);
}

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

/** Limits of what is stored of a response's headers: how many, and characters in total. */
export const MAX_HEADERS = 40;
export const MAX_CHARACTERS = 4_096;

const SET_COOKIE = /^set-cookie2?$/;
// eslint-disable-next-line no-control-regex
const UNSTORABLE = /[\u0000\r\n]/g;
/** Limits the cache of header names, of which receivers send few. */
const MAX_CACHED_NAMES = 1_000;
const hidden = new Map<string, boolean>();

/**
 * Formats the headers of a response as text that PostgreSQL accepts: a line for each, secrets masked, truncated.
 * @param headers  names in lower case
 */
export function formatResponseHeaders(headers: IncomingHttpHeaders): string {
  let text = '';
  let names = 0;
  for (const name in headers) {
    if (names === MAX_HEADERS) break;
    const value = headers[name];
    if (value === undefined) continue;
    names += 1;
    text += `${name}: ${maskValue(name, typeof value === 'string' ? value : value.join(', '))}\n`;
    if (text.length > MAX_CHARACTERS) return text.slice(0, MAX_CHARACTERS);
  }
  return text;
}

/** Parses the text of `formatResponseHeaders`; returns no header for null. */
export function parseResponseHeaders(text: string | null): WebhookHeader[] {
  if (text === null) return [];
  return text.split('\n').flatMap((line) => {
    const colon = line.indexOf(': ');
    return colon < 1 ? [] : [{ key: line.slice(0, colon), value: line.slice(colon + 2) }];
  });
}

function maskValue(name: string, value: string): string {
  if (isHidden(name)) return MASK;
  const shown = name === 'location' && URL.canParse(value) ? maskUrl(value) : value;
  return shown.replace(UNSTORABLE, ' ');
}

function isHidden(name: string): boolean {
  const known = hidden.get(name);
  if (known !== undefined) return known;
  if (hidden.size >= MAX_CACHED_NAMES) hidden.clear();
  const isSecret = SET_COOKIE.test(name) || isSecretHeader(name);
  hidden.set(name, isSecret);
  return isSecret;
}

export const RESPONSE_BODY_CHARACTERS = 1_000;
export const ERROR_BODY_CHARACTERS = 500;

/**
 * Returns the beginning of a response body as text that PostgreSQL accepts: invalid UTF-8 is replaced, NUL removed, and
 * no character is split.
 */
export function truncateText(body: Buffer, characters: number): string {
  // A character has at most four bytes, so the rest is decoded only when NUL bytes are removed.
  const head = body.subarray(0, characters * 4);
  const text = head.includes(0) ? body.toString('utf8').replaceAll('\u0000', '') : head.toString('utf8');
  return text.length <= characters ? text : [...text].slice(0, characters).join('');
}
