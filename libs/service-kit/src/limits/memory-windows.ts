import type { Clock } from '../time/clock.js';
import type { RateLimit, WindowVerdict } from './rate-limits.js';

/** Keys remembered at most; the one used longest ago is forgotten first. */
const MAX_KEYS = 50_000;

/** The same exact window inside this process, for when Redis is away. */
export class MemoryWindows {
  private readonly times = new Map<string, number[]>();

  constructor(private readonly clock: Clock) {}

  attempt({ limit, windowSeconds, countRefused }: RateLimit, key: string): WindowVerdict {
    const now = this.clock.nowMs();
    const windowMs = windowSeconds * 1_000;
    const recent = (this.times.get(key) ?? []).filter((time) => time > now - windowMs);
    this.remember(key, recent);
    if (recent.length < limit) {
      recent.push(now);
      return { allowed: true, remaining: limit - recent.length, retryAfterMs: 0 };
    }
    if (countRefused) {
      recent.push(now);
      recent.shift();
    }
    return { allowed: false, remaining: 0, retryAfterMs: recent[0] + windowMs - now };
  }

  reset(key: string): void {
    this.times.delete(key);
  }

  private remember(key: string, times: number[]): void {
    this.times.delete(key);
    this.times.set(key, times);
    if (this.times.size <= MAX_KEYS) return;
    const [oldest] = this.times.keys();
    this.times.delete(oldest);
  }
}
