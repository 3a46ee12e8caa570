import { ValidationError } from '@rmm/service-kit';
import { EnrollmentTtlExceedsCap } from './enrollment-key.errors.js';

export interface LifetimeRules {
  nowMs: number;
  /** The longest lifetime the partner allows, in minutes; null for any. */
  capMinutes: number | null;
}

const MINUTE_MS = 60_000;

/**
 * When a new key ends: as asked for, else after the default, which the partner's cap shortens.
 * @throws ValidationError  both ways of asking, or a time that has passed; EnrollmentTtlExceedsCap
 * @see CONTRACT.md 4.2
 */
export function firstExpiry(
  asked: { ttlMinutes?: number; expiresAt?: Date },
  rules: LifetimeRules & { defaultMinutes: number },
): Date {
  const { ttlMinutes, expiresAt } = asked;
  if (ttlMinutes !== undefined && expiresAt !== undefined) {
    throw ValidationError.of('ttlMinutes', 'cannot stand beside expiresAt');
  }
  const { nowMs, capMinutes, defaultMinutes } = rules;
  if (expiresAt !== undefined) return checkedExpiry(expiresAt, rules);
  if (ttlMinutes !== undefined) return checkedExpiry(new Date(nowMs + ttlMinutes * MINUTE_MS), rules);
  return new Date(nowMs + Math.min(defaultMinutes, capMinutes ?? Infinity) * MINUTE_MS);
}

/**
 * An end that somebody chose.
 * @throws ValidationError  naming expiresAt, for a time that has passed; EnrollmentTtlExceedsCap
 */
export function checkedExpiry(expiresAt: Date, { nowMs, capMinutes }: LifetimeRules): Date {
  if (expiresAt.getTime() <= nowMs) throw ValidationError.of('expiresAt', 'lies in the past');
  if (capMinutes !== null && expiresAt.getTime() > nowMs + capMinutes * MINUTE_MS) {
    throw new EnrollmentTtlExceedsCap(undefined, { message: `The partner allows at most ${capMinutes} minutes` });
  }
  return expiresAt;
}
