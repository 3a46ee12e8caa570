import type { Clock } from '../time/clock.js';
import type { RateLimit, WindowVerdict } from './rate-limits.js';

/** Keys remembered at most; the one used longest ago is forgotten first. */
const MAX_KEYS = 50_000;

/** Attempts of one key, oldest first; leaving and joining cost the same however many there are. */
class Attempts {
  private times: number[] = [];
  private head = 0;

  get count(): number {
    return this.times.length - this.head;
  }

  get oldest(): number {
    return this.times[this.head];
  }

  add(time: number): void {
    this.times.push(time);
  }

  dropOldest(): void {
    this.head += 1;
    if (this.head * 2 < this.times.length) return;
    this.times = this.times.slice(this.head);
    this.head = 0;
  }

  forgetUntil(time: number): void {
    while (this.count > 0 && this.oldest <= time) this.dropOldest();
  }
}

/** The same exact window inside this process, for when Redis is away. */
export class MemoryWindows {
  private readonly attempts = new Map<string, Attempts>();

  constructor(private readonly clock: Clock) {}

  attempt({ limit, windowSeconds, countRefused }: RateLimit, key: string): WindowVerdict {
    const now = this.clock.nowMs();
    const windowMs = windowSeconds * 1_000;
    const recent = this.recall(key);
    recent.forgetUntil(now - windowMs);
    if (recent.count < limit) {
      recent.add(now);
      return { allowed: true, remaining: limit - recent.count, retryAfterMs: 0 };
    }
    if (countRefused) {
      recent.add(now);
      recent.dropOldest();
    }
    return { allowed: false, remaining: 0, retryAfterMs: recent.oldest + windowMs - now };
  }

  reset(key: string): void {
    this.attempts.delete(key);
  }

  /** Moves the key to the end, which is the last to be forgotten. */
  private recall(key: string): Attempts {
    const known = this.attempts.get(key) ?? new Attempts();
    this.attempts.delete(key);
    this.attempts.set(key, known);
    if (this.attempts.size > MAX_KEYS) {
      const [longestAgo] = this.attempts.keys();
      this.attempts.delete(longestAgo);
    }
    return known;
  }
}
