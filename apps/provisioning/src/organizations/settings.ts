import { ValidationError } from '@rmm/service-kit';

/** Keys that are kept elsewhere: the security policy is identity's. @see CONTRACT.md 1.8 */
const NOT_HERE = ['security'];

/**
 * Merges per key; null removes one.
 * @throws ValidationError  for a part of the settings that is not provisioning's to store
 */
export function mergeSettings(
  stored: Record<string, unknown>,
  given: Record<string, unknown>,
): Record<string, unknown> {
  for (const key of NOT_HERE) {
    if (Object.hasOwn(given, key)) throw ValidationError.of(`settings.${key}`, 'cannot be changed by this request');
  }
  const merged = Object.entries({ ...stored, ...given }).filter(([, value]) => value !== null);
  return Object.fromEntries(merged);
}
