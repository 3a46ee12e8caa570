import type { RateLimitWindow } from '@rmm/rate-limits';

/** The rate limits of this service. @see docs/reference/rate-limits.md */
export const LIMITS = {
  changeEnrollmentKeys: { name: 'enrollment-key-writes', limit: 120, windowSeconds: 60, onRedisDown: 'allow' },
} as const satisfies Record<string, RateLimitWindow>;
