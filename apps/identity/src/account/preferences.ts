import { ValidationError, type FieldErrors } from '@rmm/service-kit';

type Preferences = Record<string, unknown>;

interface Rule {
  fits: (value: unknown) => boolean;
  text: string;
}

const MAX_BYTES = 65_536;
const FONT = /^[\p{L}\p{N}][\p{L}\p{N} ,._'-]{0,99}$/u;
const MAX_LOCALE_LENGTH = 35;

const oneOf = (...words: string[]): Rule => ({
  fits: (value) => typeof value === 'string' && words.includes(value),
  text: `must be one of ${words.join(', ')}`,
});

/** Validated keys; clients may store any others. */
const RULES = new Map<string, Rule>([
  ['theme', oneOf('light', 'dark', 'system')],
  ['density', oneOf('comfortable', 'compact')],
  ['timeFormat', oneOf('12h', '24h')],
  ['font', { fits: (value) => typeof value === 'string' && FONT.test(value), text: 'must be the name of a font' }],
  ['locale', { fits: isLanguageTag, text: 'must be a BCP 47 language tag' }],
  ['__proto__', { fits: () => false, text: 'unknown field' }],
]);

/**
 * Checks a change of preferences; null removes a key.
 * @throws ValidationError naming `preferences.<key>` of each invalid value
 */
export function assertPreferences(change: Preferences): void {
  const invalid = Object.entries(change).flatMap(([key, value]): [string, string[]][] => {
    const rule = RULES.get(key);
    const fits = !rule || (value === null && key !== '__proto__') || rule.fits(value);
    return fits ? [] : [[`preferences.${key}`, [rule.text]]];
  });
  if (invalid.length === 0) return;
  throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(invalid) satisfies FieldErrors });
}

/** Merges key by key; null removes a key. @throws ValidationError for more than 64 KB in all */
export function mergePreferences(stored: Preferences, change: Preferences): Preferences {
  const merged = new Map([...Object.entries(stored), ...Object.entries(change)]);
  const remaining = Object.fromEntries([...merged].filter(([, value]) => value !== null));
  if (Buffer.byteLength(JSON.stringify(remaining)) > MAX_BYTES) {
    throw ValidationError.forField('preferences', `must be at most ${MAX_BYTES} bytes in all`);
  }
  return remaining;
}

function isLanguageTag(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > MAX_LOCALE_LENGTH) return false;
  try {
    return Intl.getCanonicalLocales(value).length === 1;
  } catch {
    return false;
  }
}
