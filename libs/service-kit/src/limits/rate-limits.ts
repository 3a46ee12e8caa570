import { Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { FleetConfig } from '../config/fleet-config.js';
import { RateLimitedError, UnavailableError } from '../errors/errors.js';
import type { RedisConnections } from '../redis/redis-connections.js';
import { Clock } from '../time/clock.js';
import { MemoryWindows } from './memory-windows.js';
import { WINDOW_SCRIPT } from './window-script.js';

/** A sliding window. @see CONTRACT.md 3 */
export interface RateLimit {
  /** Names the window in Redis: `login-narrow`. */
  name: string;
  limit: number;
  windowSeconds: number;
  /** `refuse` is F of the contract (503), `allow` lets pass, `memory` counts in this process. */
  onRedisDown: 'refuse' | 'allow' | 'memory';
  /** Windows against guessing: a refused attempt counts too, so that hammering keeps the door shut. */
  countRefused?: boolean;
}

/** What a window says about one attempt. */
export interface WindowVerdict {
  allowed: boolean;
  /** Attempts left in the window. */
  remaining: number;
  /** Milliseconds until an attempt would be let in again; 0 when `allowed`. */
  retryAfterMs: number;
}

/** After a failure Redis is left alone this long, so that one that hangs does not hold up every request; in milliseconds. */
const AWAY_MS = 500;

/** Sliding windows shared by the whole fleet, counted by the clock of Redis. `RATE_LIMITS_ENABLED=false` turns them off. */
@Injectable()
export class RateLimits {
  private readonly memory: MemoryWindows;
  private awayUntil = 0;

  constructor(
    private readonly redis: RedisConnections,
    private readonly config: Pick<FleetConfig, 'rateLimitsEnabled'>,
    clock: Clock,
  ) {
    this.memory = new MemoryWindows(clock);
  }

  /**
   * Counts an attempt.
   * @param key  who; use `addressBucket` for client addresses
   * @throws RateLimitedError  with an honest `Retry-After`
   * @throws UnavailableError  when Redis is away and the window fails closed
   */
  async hit(limit: RateLimit, key: string): Promise<void> {
    if (!this.config.rateLimitsEnabled) return;
    const verdict = await this.attempt(limit, key);
    if (verdict.allowed) return;
    const retryAfterSeconds = Math.max(1, Math.ceil(verdict.retryAfterMs / 1_000));
    throw new RateLimitedError(undefined, { retryAfterSeconds, logDetails: { limit: limit.name } });
  }

  /** Forgets the attempts of a key, as a success does for some windows. Redis away: nothing happens. */
  async reset(limit: RateLimit, key: string): Promise<void> {
    this.memory.reset(windowKey(limit, key));
    if (!this.config.rateLimitsEnabled) return;
    await this.redis.shared.del(windowKey(limit, key)).catch(() => undefined);
  }

  /** The script as a command: after the first call only its hash crosses the wire. */
  private command(): WindowCommand {
    const shared = this.redis.shared as Redis & { rmmWindow?: WindowCommand };
    if (shared.rmmWindow === undefined) shared.defineCommand('rmmWindow', { numberOfKeys: 1, lua: WINDOW_SCRIPT });
    return (...args) => (shared.rmmWindow as WindowCommand)(...args);
  }

  private async attempt(limit: RateLimit, key: string): Promise<WindowVerdict> {
    const name = windowKey(limit, key);
    if (performance.now() < this.awayUntil) return this.withoutRedis(limit, name);
    try {
      const refused = limit.countRefused ? 1 : 0;
      return verdictOf(await this.command()(name, limit.limit, limit.windowSeconds * 1_000, refused));
    } catch (cause) {
      if (performance.now() >= this.awayUntil) this.awayUntil = performance.now() + AWAY_MS;
      return this.withoutRedis(limit, name, cause);
    }
  }

  private withoutRedis(limit: RateLimit, name: string, cause?: unknown): WindowVerdict {
    switch (limit.onRedisDown) {
      case 'refuse':
        throw new UnavailableError(undefined, { cause, logDetails: { limit: limit.name } });
      case 'memory':
        return this.memory.attempt(limit, name);
      case 'allow':
        return { allowed: true, remaining: limit.limit, retryAfterMs: 0 };
    }
  }
}

type WindowCommand = (key: string, limit: number, windowMs: number, countRefused: number) => Promise<unknown>;

const windowKey = (limit: RateLimit, key: string) => `rmm:limit:${limit.name}:{${key}}`;

function verdictOf(reply: unknown): WindowVerdict {
  const [allowed, remaining, retryAfterMs] = reply as [number, number, number];
  return { allowed: allowed === 1, remaining, retryAfterMs };
}
