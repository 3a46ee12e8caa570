import type { RateLimitWindow } from '@rmm/rate-limits';

/** The rate limits of this service; each counts per webhook. @see docs/reference/rate-limits.md */
export const LIMITS = {
  testWebhook: { name: 'webhook-test', limit: 30, windowSeconds: 60, onRedisDown: 'allow' },
  recoverWebhook: { name: 'webhook-recover', limit: 6, windowSeconds: 3_600, onRedisDown: 'allow' },
} as const satisfies Record<string, RateLimitWindow>;
