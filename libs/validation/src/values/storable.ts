/** Maximum nesting of an open object. Deeper ones overflow recursive code, in the database too. */
const MAX_DEPTH = 64;

/** A lone half of a surrogate pair (a well-formed pair is one letter with the flag `u`), or NUL. */
// eslint-disable-next-line no-control-regex
const UNSTORABLE = /[\p{Surrogate}\u0000]/u;

/** Returns true when a text or jsonb column can store the text: no NUL, no half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/** Returns true when a jsonb column returns the value unchanged: storable texts and names, finite numbers, limited nesting. */
export function isStorableJson(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  return Object.entries(value).every(([name, item]) => isStorableText(name) && isStorableJson(item, depth + 1));
}
