/** What stands in place of a secret, in answers and, meaning "as it was", in requests. */
export const MASK = '********';

const SECRET_WORD = /token|key|secret|signature|sig|password|auth|code|credential/i;
const SECRET_HEADER = /^(authorization|cookie)$/i;

/**
 * A URL as it may be shown: without userinfo and without query parameters that are named like a secret.
 * The rest stays as it was written, but for what the URL parser tidies once something was taken out.
 * @see CONTRACT.md 4.9
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

/** True when a caller who saw the stored URL, or gave it, has sent it back. */
export function isShownAs(stored: string, given: string): boolean {
  const known = [normalized(stored), normalized(maskUrl(stored))];
  return known.includes(normalized(given));
}

/** True when some part of a URL is nothing but a mask: no receiver has such a password or token. */
export function carriesMask(url: string): boolean {
  try {
    return decodeURIComponent(url).includes(MASK);
  } catch {
    return url.includes(MASK);
  }
}

/** The names whose values are never shown. */
export const isSecretHeader = (name: string): boolean => SECRET_HEADER.test(name) || SECRET_WORD.test(name);

export const maskHeaderValue = (name: string, value: string): string => (isSecretHeader(name) ? MASK : value);

/** @param part  a query or fragment with its `?` or `#`, or nothing */
function withoutSecrets(part: string): string {
  const pairs = part.slice(1).split('&');
  const kept = pairs.filter((pair) => !pair.split(';').some(isSecretPair));
  if (kept.length === pairs.length) return part;
  return kept.length === 0 ? '' : part.slice(0, 1) + kept.join('&');
}

/** By the name as the receiver will read it. Some split pairs at semicolons too. */
const isSecretPair = (pair: string): boolean =>
  [...new URLSearchParams(pair).keys()].some((name) => SECRET_WORD.test(name));

const normalized = (url: string): string => (URL.canParse(url) ? new URL(url).href : url);
