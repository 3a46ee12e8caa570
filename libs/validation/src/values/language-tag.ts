const MAX_LENGTH = 35;

/** Returns true for one BCP 47 language tag: `de`, `en-GB`. */
export function isLanguageTag(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_LENGTH) return false;
  try {
    return Intl.getCanonicalLocales(value).length === 1;
  } catch {
    return false;
  }
}
