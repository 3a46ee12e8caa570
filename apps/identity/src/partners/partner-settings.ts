import { ValidationError } from '@rmm/service-kit';
import { assertSettingsSize, isLanguageTag, IsInteger, mergeSettings, readDto } from '@rmm/validation';
import { changePolicy, type PolicyChange } from '../security-policy/security.policy.js';

type Settings = Record<string, unknown>;

const MAX_TTL_MINUTES = 525_600;

class EnrollmentSettingsDto {
  @IsInteger({
    optional: true,
    min: 1,
    max: MAX_TTL_MINUTES,
    description: 'Longest lifetime of an enrollment key, in minutes',
  })
  maxTtlMinutes?: number;
}

/**
 * Checks the documented keys of a change of a partner's settings but `security`, which has a policy of its own; clients
 * may store any other key. Null removes a key.
 * @throws ValidationError  naming `settings.<key>`
 * @see docs/reference/tenancy.md#settings
 */
export function assertPartnerSettings({ enrollment, locale }: Settings): void {
  if (enrollment !== undefined && enrollment !== null) assertEnrollment(enrollment);
  if (locale !== undefined && locale !== null && !isLanguageTag(locale)) {
    throw ValidationError.forField('settings.locale', 'must be a BCP 47 language tag');
  }
}

function assertEnrollment(enrollment: unknown): void {
  if (typeof enrollment !== 'object' || Array.isArray(enrollment)) {
    throw ValidationError.forField('settings.enrollment', 'must be an object');
  }
  try {
    readDto(EnrollmentSettingsDto, enrollment);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const named = Object.entries(error.fieldErrors ?? {}).map(([path, texts]) => [
      `settings.enrollment.${path}`,
      texts,
    ]);
    throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(named) as typeof error.fieldErrors });
  }
}

/**
 * Merges a change into the stored settings.
 * @param policy undefined when the request does not name it; null to remove it
 * @throws ValidationError  when the result is larger than 64 KB
 */
export function mergePartnerSettings(
  stored: Settings,
  given: Settings | undefined,
  policy: PolicyChange | null | undefined,
): Settings {
  const merged = mergeSettings(stored, { ...given, security: stored.security ?? null });
  if (policy === undefined) return merged;
  const changed = { ...merged, security: changePolicy(stored.security ?? {}, policy) };
  assertSettingsSize(changed);
  return changed;
}

/** Returns the cap on the lifetime of enrollment keys; null for none. */
export function maxEnrollmentTtl({ enrollment }: Settings): number | null {
  return (enrollment as { maxTtlMinutes?: number } | undefined)?.maxTtlMinutes ?? null;
}
