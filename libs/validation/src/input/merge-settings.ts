import { ValidationError } from '@rmm/errors';

/** The most bytes of stored settings, as JSON. */
export const MAX_SETTINGS_BYTES = 65_536;

/** A client that merges by assignment would change the prototype of its object. */
const UNUSABLE_KEY = '__proto__';

type Settings = Record<string, unknown>;

/**
 * Merges settings key by key; null removes a key.
 * @param field  names the settings in the error
 * @throws ValidationError  for the key `__proto__`, and when the result is larger than 64 KB
 */
export function mergeSettings(stored: Settings, changes: Settings, field = 'settings'): Settings {
  if (Object.hasOwn(changes, UNUSABLE_KEY)) throw ValidationError.forField(`${field}.${UNUSABLE_KEY}`, 'unknown field');
  const merged = new Map([...Object.entries(stored), ...Object.entries(changes)]);
  const remaining = Object.fromEntries([...merged].filter(([, value]) => value !== null));
  assertSettingsSize(remaining, field);
  return remaining;
}

/** @throws ValidationError  when stored settings would be larger than 64 KB */
export function assertSettingsSize(settings: Settings, field = 'settings'): void {
  if (Buffer.byteLength(JSON.stringify(settings)) > MAX_SETTINGS_BYTES) {
    throw ValidationError.forField(field, `must be at most ${MAX_SETTINGS_BYTES} bytes in all`);
  }
}
