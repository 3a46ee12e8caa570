import { ValidationError } from '@rmm/service-kit';
import { EnrollmentTtlExceedsCap } from './enrollment-key.errors.js';

export interface LifetimeRules {
  nowMs: number;
  /** The longest lifetime the partner allows, in minutes; null for no limit. */
  capMinutes: number | null;
}

const MINUTE_MS = 60_000;

/**
 * Returns when a new key expires: as requested, else after the default lifetime, limited to the partner's cap.
 * @throws ValidationError for both fields, or a time in the past; EnrollmentTtlExceedsCap
 * @see docs/reference/keys.md
 */
export function initialExpiry(
  requested: { ttlMinutes?: number; expiresAt?: Date },
  rules: LifetimeRules & { defaultMinutes: number },
): Date {
  const { ttlMinutes, expiresAt } = requested;
  if (ttlMinutes !== undefined && expiresAt !== undefined) {
    throw ValidationError.forField('ttlMinutes', 'cannot be combined with expiresAt');
  }
  const { nowMs, capMinutes, defaultMinutes } = rules;
  if (expiresAt !== undefined) return checkedExpiry(expiresAt, rules);
  if (ttlMinutes !== undefined) return checkedExpiry(new Date(nowMs + ttlMinutes * MINUTE_MS), rules);
  return new Date(nowMs + Math.min(defaultMinutes, capMinutes ?? Infinity) * MINUTE_MS);
}

/**
 * Returns a requested expiry after checking it.
 * @throws ValidationError naming expiresAt for a time in the past; EnrollmentTtlExceedsCap
 */
export function checkedExpiry(expiresAt: Date, { nowMs, capMinutes }: LifetimeRules): Date {
  if (expiresAt.getTime() <= nowMs) throw ValidationError.forField('expiresAt', 'lies in the past');
  if (capMinutes !== null && expiresAt.getTime() > nowMs + capMinutes * MINUTE_MS) {
    throw new EnrollmentTtlExceedsCap(undefined, { message: `The partner allows at most ${capMinutes} minutes` });
  }
  return expiresAt;
}

/** Returns the expiry a rotated key keeps: the previous one, shortened to a cap that was lowered since. */
export function keptExpiry(expiresAt: Date, { nowMs, capMinutes }: LifetimeRules): Date {
  const latestMs = capMinutes === null ? Infinity : nowMs + capMinutes * MINUTE_MS;
  return expiresAt.getTime() > latestMs ? new Date(latestMs) : expiresAt;
}
