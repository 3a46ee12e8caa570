import type { IncomingHttpHeaders } from 'node:http';
import type { WebhookHeader } from '../webhooks/webhook-headers.policy.js';
import { isSecretHeader, MASK, maskUrl } from '../webhooks/webhook-masking.policy.js';

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
