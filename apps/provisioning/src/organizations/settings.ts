import { ValidationError } from '@rmm/service-kit';

/** Keys that are kept elsewhere: the security policy is identity's. @see CONTRACT.md 1.8 */
const NOT_HERE = ['security'];

/**
 * Merges per key; null removes one. A PATCH has handed the security policy to identity before.
 * @throws ValidationError  for a part of the settings that is not provisioning's to store
 */
export function mergeSettings(
  stored: Record<string, unknown>,
  given: Record<string, unknown>,
): Record<string, unknown> {
  for (const key of NOT_HERE) {
    if (Object.hasOwn(given, key))
      throw ValidationError.of(`settings.${key}`, 'is set with PATCH once the organization exists');
  }
  const merged = Object.entries({ ...stored, ...given }).filter(([, value]) => value !== null);
  return Object.fromEntries(merged);
}

/** Parts `settings.security` from the rest of a change; settings that held nothing else are left out. */
export function splitSecurity<T extends { settings?: Record<string, unknown> }>(given: T) {
  if (!given.settings || !Object.hasOwn(given.settings, 'security')) return { dto: given, security: undefined };
  const { security, ...others } = given.settings;
  const settings = Object.keys(others).length > 0 ? others : undefined;
  return { dto: { ...given, settings }, security };
}
