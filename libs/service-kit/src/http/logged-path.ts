/** A word of a route. Keys, tokens and ids have digits, capitals, underscores or other characters. */
const WORD = /^(?:[a-z][a-z-]{0,31}|v1|openapi\.json)$/;
const MAX_SEGMENTS = 8;

/**
 * Returns a path for the log with `*` for every segment that is no word: a key pasted into a path must not stay in logs.
 * Long paths are cut.
 */
export function loggedPath(pathname: string): string {
  const segments = pathname.split('/');
  const shown = segments
    .slice(0, MAX_SEGMENTS)
    .map((segment) => (segment === '' || WORD.test(segment) ? segment : '*'));
  return shown.join('/') + (segments.length > MAX_SEGMENTS ? '/...' : '');
}
