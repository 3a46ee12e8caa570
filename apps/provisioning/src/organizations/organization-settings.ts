import { ValidationError } from '@rmm/service-kit';

/** Settings that another service stores: identity owns the security policy. */
const FOREIGN_KEYS = ['security'];

/** Limit of the settings of one organization: lists contain them. */
const MAX_BYTES = 64 * 1024;

/**
 * Merges settings key by key; null removes a key.
 * @throws ValidationError  for a key that provisioning does not store, and for more than an organization may have
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
  const entries = Object.entries({ ...stored, ...changes }).filter(([, value]) => value !== null);
  const merged = Object.fromEntries(entries);
  if (Buffer.byteLength(JSON.stringify(merged)) > MAX_BYTES) {
    throw ValidationError.forField('settings', `have at most ${MAX_BYTES} bytes in all after the merge`);
  }
  return merged;
}

/** Separates `settings.security` from the rest of a change; settings without another key are left out. */
export function splitSecurity<T extends { settings?: Record<string, unknown> }>(given: T) {
  if (!given.settings || !Object.hasOwn(given.settings, 'security')) return { dto: given, security: undefined };
  const { security, ...others } = given.settings;
  const settings = Object.keys(others).length > 0 ? others : undefined;
  return { dto: { ...given, settings }, security };
}
