/** What stands in place of a secret, in answers and, meaning "as it was", in requests. */
export const MASK = '********';

const SECRET_WORD = /token|key|secret|signature|sig|password|auth|code|credential/i;
const SECRET_HEADER = /^(authorization|cookie)$/i;

/**
 * A URL as it may be shown: without userinfo and without query parameters that are named like a secret.
 * The rest stays as it was written.
 * @see CONTRACT.md 4.9
 */
export function maskUrl(url: string): string {
  if (!URL.canParse(url)) return MASK;
  const parsed = new URL(url);
  const secretNames = [...parsed.searchParams.keys()].filter((name) => SECRET_WORD.test(name));
  if (parsed.username === '' && parsed.password === '' && secretNames.length === 0) return url;
  parsed.username = '';
  parsed.password = '';
  for (const name of secretNames) parsed.searchParams.delete(name);
  return parsed.href;
}

/** The names whose values are never shown. */
export const isSecretHeader = (name: string): boolean => SECRET_HEADER.test(name) || SECRET_WORD.test(name);

export const maskHeaderValue = (name: string, value: string): string => (isSecretHeader(name) ? MASK : value);
