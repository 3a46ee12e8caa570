/** Replaces a secret in responses; in a request it keeps the stored value. */
export const MASK = '********';

const SECRET_WORD = /token|key|secret|signature|sig|password|auth|code|credential/i;
const SECRET_HEADER = /^(authorization|cookie)$/i;

/**
 * Removes userinfo and the query and fragment parameters whose names suggest a secret. A URL without any is returned
 * unchanged; otherwise the rest is normalized by the URL parser.
 * @see docs/reference/webhooks.md
 */
export function maskUrl(url: string): string {
  if (!URL.canParse(url)) return MASK;
  const parsed = new URL(url);
  const search = withoutSecrets(parsed.search);
  const hash = withoutSecrets(parsed.hash);
  const hasUserinfo = parsed.username !== '' || parsed.password !== '';
  if (!hasUserinfo && search === parsed.search && hash === parsed.hash) return url;
  parsed.username = '';
  parsed.password = '';
  parsed.search = search;
  parsed.hash = hash;
  return parsed.href;
}

/** Returns whether a URL is the stored one, masked or not. */
export function isMaskedForm(stored: string, given: string): boolean {
  const known = [normalized(stored), normalized(maskUrl(stored))];
  return known.includes(normalized(given));
}

/** Returns whether a part of a URL is a mask, which no receiver has as a password or token. */
export function containsMask(url: string): boolean {
  try {
    return decodeURIComponent(url).includes(MASK);
  } catch {
    return url.includes(MASK);
  }
}

/** Returns whether the value of a header is masked. */
export const isSecretHeader = (name: string): boolean => SECRET_HEADER.test(name) || SECRET_WORD.test(name);

export const maskHeaderValue = (name: string, value: string): string => (isSecretHeader(name) ? MASK : value);

/** @param part  a query or fragment with its `?` or `#`, or an empty string */
function withoutSecrets(part: string): string {
  const pairs = part.slice(1).split('&');
  const kept = pairs.filter((pair) => !pair.split(';').some(isSecretPair)); // some receivers split at semicolons too
  if (kept.length === pairs.length) return part;
  return kept.length === 0 ? '' : part.slice(0, 1) + kept.join('&');
}

/** Decodes the name as a receiver does. */
const isSecretPair = (pair: string): boolean =>
  [...new URLSearchParams(pair).keys()].some((name) => SECRET_WORD.test(name));

const normalized = (url: string): string => (URL.canParse(url) ? new URL(url).href : url);
