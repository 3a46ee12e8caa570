import type { Cluster, Redis } from 'ioredis';

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

/** The settings of a process, which are part of its configuration. */
export interface RateLimitsConfig {
  rateLimitsEnabled: boolean;
  globalRateLimitPerMinute: number;
  /** Windows of this service that replace declared ones of the same name; see `readRateLimits`. */
  limits?: Readonly<Record<string, RateLimitWindow>>;
}

/** Cause of a refusal: the window or slots are used up, Redis is away, or the process runs enough of them. */
export type RefusalReason = 'limit' | 'redis' | 'process';

/** Counts the requests that limits refuse. */
export interface LimitsObserver {
  /** @param limit  the declared name of the limit, never a part of its key */
  countRefusal(limit: string, reason: RefusalReason): void;
}

/** Has the connection that limits use; it should fail fast while Redis is away. */
export interface LimitsRedis {
  readonly shared: Redis | Cluster;
}

/** Reads text variables; `ConfigReader` does. */
export interface VariableReader {
  string(name: string, options: { pattern: RegExp }): string | undefined;
}

/**
 * Reads the windows of a service: `RATE_LIMIT_LOGIN_NARROW=5/300` sets the window `login-narrow` to five in 300 seconds.
 * Put the result into `limits` of the service's configuration.
 */
export function readRateLimits<K extends string>(
  v: VariableReader,
  defaults: Readonly<Record<K, RateLimitWindow>>,
): Record<K, RateLimitWindow> {
  const windows = Object.entries<RateLimitWindow>(defaults).map(([name, window]) => {
    const variable = `RATE_LIMIT_${window.name.toUpperCase().replaceAll('-', '_')}`;
    const text = v.string(variable, { pattern: /^[1-9]\d{0,6}\/[1-9]\d{0,6}$/ });
    const [limit = window.limit, windowSeconds = window.windowSeconds] = text?.split('/').map(Number) ?? [];
    return [name, { ...window, limit, windowSeconds }];
  });
  return Object.fromEntries(windows) as Record<K, RateLimitWindow>;
}
