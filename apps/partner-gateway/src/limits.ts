import type { RateLimitWindow } from '@rmm/rate-limits';

/** The rate limits of this service. @see docs/reference/rate-limits.md */
export const LIMITS = {
  /** Counts per key, since the route is not charged to the limit of the key. */
  readCurrentKey: { name: 'current-partner-key', limit: 60, windowSeconds: 60, onRedisDown: 'allow' },
} as const satisfies Record<string, RateLimitWindow>;
