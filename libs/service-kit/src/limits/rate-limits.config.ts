import type { ConfigReader } from '../config/config-reader.js';
import type { RateLimitWindow } from './rate-limit.js';

/**
 * Reads the windows of a service: `RATE_LIMIT_LOGIN_NARROW=5/300` sets the window `login-narrow` to five in 300 seconds.
 * Put the result into `limits` of the service's configuration.
 */
export function readRateLimits<K extends string>(
  v: ConfigReader,
  defaults: Readonly<Record<K, RateLimitWindow>>,
): Record<K, RateLimitWindow> {
  const read = (limit: RateLimitWindow): RateLimitWindow => {
    const variable = `RATE_LIMIT_${limit.name.toUpperCase().replaceAll('-', '_')}`;
    const text = v.string(variable, { pattern: /^[1-9]\d{0,6}\/[1-9]\d{0,6}$/ });
    if (text === undefined) return limit;
    const [count, seconds] = text.split('/').map(Number);
    return { ...limit, limit: count ?? limit.limit, windowSeconds: seconds ?? limit.windowSeconds };
  };
  const windows = Object.entries<RateLimitWindow>(defaults).map(([name, limit]) => [name, read(limit)]);
  return Object.fromEntries(windows) as Record<K, RateLimitWindow>;
}
