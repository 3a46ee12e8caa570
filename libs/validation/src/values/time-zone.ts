const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/;
/** More than there are zones and aliases in their usual spellings. */
const MAX_KNOWN = 2_000;

/** Names that were found to be zones: a check by Intl takes a third of a millisecond, and an import has 1,000 rows. */
const known = new Set<string>();

/** Returns whether a text is the name of an IANA time zone; offsets such as `+01:00` are not. */
export function isTimeZone(name: string): boolean {
  if (known.has(name)) return true;
  if (!ZONE_NAME.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
  } catch {
    return false;
  }
  if (known.size < MAX_KNOWN) known.add(name);
  return true;
}
