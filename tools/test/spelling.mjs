/**
 * Arguments of cspell for the whole checkout. The cache makes a second run take a few seconds; it compares contents, since
 * a fresh checkout has new times.
 * @see docs/CONTRIBUTING.md#words
 */
export const SPELLING_ARGUMENTS = [
  'lint',
  '--no-progress',
  '--no-summary',
  '--gitignore',
  '--cache',
  '--cache-strategy=content',
  '--cache-location=node_modules/.cache/cspell',
  '.',
];
