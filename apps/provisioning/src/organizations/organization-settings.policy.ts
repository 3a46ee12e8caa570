import { ValidationError } from '@rmm/service-kit';

/** Settings that another service stores: identity owns the security policy. */
const FOREIGN_KEYS = ['security'];

/**
 * Merges settings key by key; null removes a key.
 * @throws ValidationError  for a key that provisioning does not store
 */
export function mergeSettings(
  stored: Record<string, unknown>,
  changes: Record<string, unknown>,
): Record<string, unknown> {
  for (const key of FOREIGN_KEYS) {
    if (Object.hasOwn(changes, key)) {
      throw ValidationError.forField(`settings.${key}`, 'is set with PATCH once the organization exists');
    }
  }
  const merged = Object.entries({ ...stored, ...changes }).filter(([, value]) => value !== null);
  return Object.fromEntries(merged);
}

/** Separates `settings.security` from the rest of a change; settings without another key are left out. */
export function splitSecurity<T extends { settings?: Record<string, unknown> }>(given: T) {
  if (!given.settings || !Object.hasOwn(given.settings, 'security')) return { dto: given, security: undefined };
  const { security, ...others } = given.settings;
  const settings = Object.keys(others).length > 0 ? others : undefined;
  return { dto: { ...given, settings }, security };
}
