import { ValidationError } from '@rmm/service-kit';
import { isLanguageTag, mergeSettings } from '@rmm/validation';

/**
 * Merges settings of an organization other than `security`, which identity stores; null removes a key. `locale` is checked,
 * other keys are free.
 * @throws ValidationError  also for more than 64 KB after the merge
 * @see docs/reference/tenancy.md#settings
 */
export function mergeOrganizationSettings(
  stored: Record<string, unknown>,
  changes: Record<string, unknown>,
): Record<string, unknown> {
  const { locale } = changes;
  if (Object.hasOwn(changes, 'security')) throw new Error('settings.security is stored by identity');
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
