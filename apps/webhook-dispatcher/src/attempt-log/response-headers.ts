import type { IncomingHttpHeaders } from 'node:http';
import { isSecretHeader, MASK, maskUrl } from '../webhooks/webhook-masking.js';
import type { WebhookHeader } from '../webhooks/webhook-headers.js';

/** So much of an answer's headers is kept: names, and characters in all. */
export const MAX_KEPT_NAMES = 40;
export const MAX_KEPT_CHARACTERS = 4_096;

const SET_COOKIE = /^set-cookie2?$/;
// eslint-disable-next-line no-control-regex
const UNSTORABLE = /[\u0000\r\n]/g;
/** Receivers send the same few names again and again. */
const MAX_REMEMBERED = 1_000;
const hidden = new Map<string, boolean>();

/**
 * The headers of an answer as text that PostgreSQL takes, a line each, what is secret masked, too much cut off.
 * @param headers  names in lower case
 */
export function formatResponseHeaders(headers: IncomingHttpHeaders): string {
  let text = '';
  let names = 0;
  for (const name in headers) {
    if (names === MAX_KEPT_NAMES) break;
    const value = headers[name];
    if (value === undefined) continue;
    names += 1;
    text += `${name}: ${shownValue(name, typeof value === 'string' ? value : value.join(', '))}\n`;
    if (text.length > MAX_KEPT_CHARACTERS) return text.slice(0, MAX_KEPT_CHARACTERS);
  }
  return text;
}

/** What `keptHeaders` kept; none for null. */
export function parseResponseHeaders(text: string | null): WebhookHeader[] {
  if (text === null) return [];
  return text.split('\n').flatMap((line) => {
    const colon = line.indexOf(': ');
    return colon < 1 ? [] : [{ key: line.slice(0, colon), value: line.slice(colon + 2) }];
  });
}

function shownValue(name: string, value: string): string {
  if (isHidden(name)) return MASK;
  const shown = name === 'location' && URL.canParse(value) ? maskUrl(value) : value;
  return shown.replace(UNSTORABLE, ' ');
}

function isHidden(name: string): boolean {
  const known = hidden.get(name);
  if (known !== undefined) return known;
  if (hidden.size >= MAX_REMEMBERED) hidden.clear();
  const isSecret = SET_COOKIE.test(name) || isSecretHeader(name);
  hidden.set(name, isSecret);
  return isSecret;
}
