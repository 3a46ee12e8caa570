import type { RateLimitWindow } from '@rmm/service-kit';

/** The rate limits of this service. @see docs/reference/rate-limits.md */
export const LIMITS = {
  /** Per address. Counts every attempt, malformed ones included, so that keys cannot be guessed. */
  enrollAgent: { name: 'agent-enroll', limit: 10, windowSeconds: 60, onRedisDown: 'refuse', countRefused: true },
  /** Per agent. */
  agentHeartbeat: { name: 'agent-heartbeat', limit: 120, windowSeconds: 60, onRedisDown: 'allow' },
} as const satisfies Record<string, RateLimitWindow>;
