/** SPEC 2.9 */
export const RESPONSE_BODY_CHARACTERS = 1_000;
export const ERROR_BODY_CHARACTERS = 500;

/**
 * The beginning of an answer as text that PostgreSQL takes: bytes that are no UTF-8 are replaced, NUL is left out,
 * and no character is cut in two.
 */
export function keptText(body: Buffer, characters: number): string {
  // Four bytes a character at most: the rest need not be decoded.
  const text = body
    .subarray(0, characters * 4)
    .toString('utf8')
    .replaceAll('\u0000', '');
  return [...text].slice(0, characters).join('');
}
