import { UseGuards } from '@nestjs/common';
import { CallerRateLimitGuard, type RateLimitKey, routeLimits, setRouteLimits } from './rate-limit.guard.js';
import type { RateLimitWindow } from './rate-limits.config.js';

/** The type of a window and the decorator that applies one have the same name. */
export type RateLimit = RateLimitWindow;

/**
 * Limits a route; several limits are checked in the order they are written. `client` limits are checked before
 * authentication, the others after the access checks and before validation. Use `RateLimits.hit` where the key is only
 * known inside the use case.
 */
export function RateLimit(limit: RateLimitWindow, key: RateLimitKey = 'client'): MethodDecorator {
  return (target, property, descriptor) => {
    const handler: unknown = descriptor.value;
    if (typeof handler !== 'function') throw new TypeError('@RateLimit() belongs on a route handler');
    const others = routeLimits(handler);
    setRouteLimits(handler, [{ limit, key }, ...others]);
    const isGuarded = others.some((other) => other.key !== 'client');
    if (key !== 'client' && !isGuarded) UseGuards(CallerRateLimitGuard)(target, property, descriptor);
  };
}
