import type { AuthenticatedRequest } from '../http/kit-request.js';

/** A sliding window. @see docs/reference/rate-limits.md */
export interface RateLimitWindow {
  /** Names the window in Redis and in variables: `login-narrow` is `RATE_LIMIT_LOGIN_NARROW`. */
  name: string;
  limit: number;
  windowSeconds: number;
  /** `refuse` fails closed (503), `allow` admits, `memory` counts in this process. */
  onRedisDown: 'refuse' | 'allow' | 'memory';
  /** Windows against guessing: refused attempts count too, so that an attacker who goes on stays refused. */
  countRefused?: boolean;
}

/** The key of a route limit: the address bucket of the client, the id of the signed-in user, or any text of the request. */
export type RateLimitKey = 'client' | 'user' | ((request: AuthenticatedRequest) => string);

export interface RouteLimit {
  readonly limit: RateLimitWindow;
  readonly key: RateLimitKey;
}

export const ROUTE_LIMITS = Symbol('ROUTE_LIMITS');
const NONE: readonly RouteLimit[] = [];

/** Returns the limits that `@RateLimit` declared on a route handler. */
export function routeLimits(handler: object): readonly RouteLimit[] {
  return (Reflect.getMetadata(ROUTE_LIMITS, handler) as readonly RouteLimit[] | undefined) ?? NONE;
}
