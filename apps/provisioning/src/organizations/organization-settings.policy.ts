import { ValidationError } from '@rmm/service-kit';
import { isLanguageTag, mergeSettings } from '@rmm/validation';

/** Settings that another service stores: identity owns the security policy. */
const FOREIGN_KEYS = ['security'];

/**
 * Merges settings of an organization; null removes a key. `locale` is checked, other keys are free.
 * @throws ValidationError  for a key that provisioning does not store, and for more than 64 KB after the merge
 * @see docs/reference/tenancy.md#settings
 */
export function mergeOrganizationSettings(
  stored: Record<string, unknown>,
  changes: Record<string, unknown>,
): Record<string, unknown> {
  for (const key of FOREIGN_KEYS) {
    if (Object.hasOwn(changes, key)) {
      throw ValidationError.forField(`settings.${key}`, 'is set with PATCH once the organization exists');
    }
  }
  const { locale } = changes;
  if (locale !== undefined && locale !== null && !isLanguageTag(locale)) {
    throw ValidationError.forField('settings.locale', 'must be a BCP 47 language tag');
  }
  return mergeSettings(stored, changes);
}

/** Separates `settings.security` from the rest of a change; settings without another key are left out. */
export function splitSecurity<T extends { settings?: Record<string, unknown> }>(given: T) {
  if (!given.settings || !Object.hasOwn(given.settings, 'security')) return { dto: given, security: undefined };
  const { security, ...others } = given.settings;
  const settings = Object.keys(others).length > 0 ? others : undefined;
  return { dto: { ...given, settings }, security };
}
