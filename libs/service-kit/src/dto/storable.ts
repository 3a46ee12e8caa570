/** How deep an open object may nest. Deeper ones overflow whoever walks them, the database included. */
const MAX_DEPTH = 64;

/** A lone half of a surrogate pair (a well-formed pair is one letter with the flag `u`), or NUL. */
// eslint-disable-next-line no-control-regex
const UNSTORABLE = /[\p{Surrogate}\u0000]/u;

/** May stand in a text or jsonb column as it is: no NUL, no half of a character. */
export function isStorableText(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/** May stand in a jsonb column and come back the same: storable texts and names, finite numbers, not nested too deep. */
export function isStorableJson(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  return Object.entries(value).every(([name, item]) => isStorableText(name) && isStorableJson(item, depth + 1));
}
