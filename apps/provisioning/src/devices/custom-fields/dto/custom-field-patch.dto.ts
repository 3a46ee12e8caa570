import { ValidationError } from '@rmm/service-kit';
import { isStorableText } from '@rmm/validation';

export type CustomFieldValue = string | number | boolean;

/** The parts of a PATCH: values to set, names to remove, and all names in the order of the body. */
export interface CustomFieldPatch {
  set: Record<string, CustomFieldValue>;
  remove: string[];
  keys: string[];
}

export const MAX_KEY_LENGTH = 100;
export const MAX_TEXT_LENGTH = 10_000;
/** Limit of one request: a list in the details of an audit entry has at most this many items. */
export const MAX_KEYS_AT_ONCE = 200;

/** A client that merges by assignment would change the prototype of its object. */
const UNUSABLE = '__proto__';
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

const KEY_TEXT = `is no name of a custom field: 1 to ${MAX_KEY_LENGTH} characters, without control characters`;
const VALUE_TEXT = `must be text of at most ${MAX_TEXT_LENGTH} characters, a number, true, false or null`;

/**
 * Reads a flat map of custom fields; null removes a field.
 * @throws ValidationError  with every invalid key, and every value that is nested, a list, too long or not finite
 */
export function readCustomFieldPatch(body: unknown): CustomFieldPatch {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw ValidationError.forField('body', 'must be an object');
  const entries = Object.entries(body as Record<string, unknown>);
  if (entries.length === 0) throw ValidationError.nothingToChange();
  if (entries.length > MAX_KEYS_AT_ONCE)
    throw ValidationError.forField('body', `must have at most ${MAX_KEYS_AT_ONCE} fields`);
  const problems = entries.flatMap(([key, value]): [string, string[]][] => {
    if (!isFieldKey(key)) return [[key.slice(0, MAX_KEY_LENGTH) || 'body', [KEY_TEXT]]];
    return value === null || isFieldValue(value) ? [] : [[key, [VALUE_TEXT]]];
  });
  // `fromEntries` defines properties instead of assigning them, so no name has a special meaning.
  if (problems.length > 0)
    throw new ValidationError(undefined, { fieldErrors: Object.fromEntries<string[]>(problems) });
  return {
    set: Object.fromEntries(entries.filter(([, value]) => value !== null)) as CustomFieldPatch['set'],
    remove: entries.filter(([, value]) => value === null).map(([key]) => key),
    keys: entries.map(([key]) => key),
  };
}

export function isFieldKey(key: string): boolean {
  return (
    key.length >= 1 && key.length <= MAX_KEY_LENGTH && key !== UNUSABLE && !CONTROL.test(key) && isStorableText(key)
  );
}

export function isFieldValue(value: unknown): value is CustomFieldValue {
  if (typeof value === 'string') return value.length <= MAX_TEXT_LENGTH && isStorableText(value);
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
}
