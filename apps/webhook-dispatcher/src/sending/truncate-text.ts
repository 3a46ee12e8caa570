/** SPEC 2.9 */
export const RESPONSE_BODY_CHARACTERS = 1_000;
export const ERROR_BODY_CHARACTERS = 500;

/**
 * The beginning of an answer as text that PostgreSQL takes: bytes that are no UTF-8 are replaced, NUL is left out,
 * and no character is cut in two.
 */
export function truncateText(body: Buffer, characters: number): string {
  // Four bytes a character at most: the rest need not be decoded, unless what is left out made room for it.
  const head = body.subarray(0, characters * 4);
  const text = head.includes(0) ? body.toString('utf8').replaceAll('\u0000', '') : head.toString('utf8');
  return text.length <= characters ? text : [...text].slice(0, characters).join('');
}
