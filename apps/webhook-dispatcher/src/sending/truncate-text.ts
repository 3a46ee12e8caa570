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
