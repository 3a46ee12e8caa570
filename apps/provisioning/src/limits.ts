import type { ConcurrencyLimit, LimitedRequest, RateLimitWindow } from '@rmm/rate-limits';

/** The rate limits of this service. @see docs/reference/rate-limits.md */
export const LIMITS = {
  /** Per address. Counts every attempt, malformed ones included, so that keys cannot be guessed. */
  enrollAgent: { name: 'agent-enroll', limit: 10, windowSeconds: 60, onRedisDown: 'refuse', countRefused: true },
  /** Per agent. */
  agentHeartbeat: { name: 'agent-heartbeat', limit: 120, windowSeconds: 60, onRedisDown: 'allow' },
} as const satisfies Record<string, RateLimitWindow>;

/** Imports and previews of one partner at the same time, so that its work leaves connections and time to the others. */
export const CONCURRENT_IMPORTS: ConcurrencyLimit = {
  name: 'import',
  limit: 2,
  leaseSeconds: 30,
  retryAfterSeconds: 2,
};

/** The partner of the caller; platform administrators, who name it in the body, count for themselves. */
export const importingTenant = ({ caller }: LimitedRequest): string => caller?.partnerId ?? caller?.userId ?? '';
