import { ValidationError, type FieldErrors } from '@rmm/service-kit';
import { isLanguageTag, mergeSettings } from '@rmm/validation';

type Preferences = Record<string, unknown>;

interface Rule {
  fits: (value: unknown) => boolean;
  text: string;
}

const FONT = /^[\p{L}\p{N}][\p{L}\p{N} ,._'-]{0,99}$/u;

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
]);

/**
 * Checks a change of preferences; null removes a key.
 * @throws ValidationError naming `preferences.<key>` of each invalid value
 */
export function assertPreferences(change: Preferences): void {
  const invalid = Object.entries(change).flatMap(([key, value]): [string, string[]][] => {
    const rule = RULES.get(key);
    const fits = !rule || value === null || rule.fits(value);
    return fits ? [] : [[`preferences.${key}`, [rule.text]]];
  });
  if (invalid.length === 0) return;
  throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(invalid) satisfies FieldErrors });
}

/** Merges key by key; null removes a key. @throws ValidationError for more than 64 KB in all */
export function mergePreferences(stored: Preferences, change: Preferences): Preferences {
  return mergeSettings(stored, change, 'preferences');
}
