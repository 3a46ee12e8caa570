import { Inject, Injectable, Optional } from '@nestjs/common';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { RateLimitedError, UnavailableError } from '@rmm/errors';
import type { LimitsObserver, LimitsRedis, RateLimitsConfig, RateLimitWindow } from './rate-limits.config.js';
import { LIMITS_OBSERVER, LIMITS_REDIS, RATE_LIMITS_CONFIG } from './tokens.js';
import { SLIDING_WINDOW_SCRIPT } from './window-script.js';

/** After a failure Redis is not asked for this long: while it hangs, each call would wait for its time limit; in ms. */
const REDIS_PAUSE_MS = 500;

interface Limiters {
  redis: RateLimiterRedis;
  memory: RateLimiterMemory;
}

/** Sliding windows shared by the whole fleet, timed by the clock of Redis. `RATE_LIMITS_ENABLED=false` turns them off. */
@Injectable()
export class RateLimits {
  private readonly limiters = new Map<string, Limiters>();
  private readonly configured: ReadonlyMap<string, RateLimitWindow>;
  private redisPausedUntil = 0;

  constructor(
    @Inject(LIMITS_REDIS) private readonly redis: LimitsRedis,
    @Inject(RATE_LIMITS_CONFIG) private readonly config: Pick<RateLimitsConfig, 'rateLimitsEnabled' | 'limits'>,
    @Optional() @Inject(LIMITS_OBSERVER) private readonly observer?: LimitsObserver,
  ) {
    this.configured = new Map(Object.values(config.limits ?? {}).map((limit) => [limit.name, limit]));
  }

  /**
   * Counts an attempt. A window of the same name in the configuration replaces the declared one.
   * @param key  what the window counts by; `clientBucket` for client addresses
   * @throws RateLimitedError  with the seconds after which an attempt is admitted
   * @throws UnavailableError  when Redis is away and the window fails closed
   */
  async hit(declared: RateLimitWindow, key: string): Promise<void> {
    if (!this.config.rateLimitsEnabled) return;
    const limit = this.configured.get(declared.name) ?? declared;
    try {
      await this.consume(limit, `{${key}}`);
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      this.observer?.countRefusal(limit.name, 'limit');
      const retryAfterSeconds = Math.max(1, Math.ceil(refused.msBeforeNext / 1_000));
      throw new RateLimitedError(undefined, { retryAfterSeconds, logDetails: { limit: limit.name } });
    }
  }

  /** Forgets the attempts of a key, as a success does for some windows. Does nothing while Redis is away. */
  async reset(declared: RateLimitWindow, key: string): Promise<void> {
    const { redis, memory } = this.limitersFor(this.configured.get(declared.name) ?? declared);
    await memory.delete(`{${key}}`);
    if (this.config.rateLimitsEnabled) await redis.delete(`{${key}}`).catch(() => undefined);
  }

  /** @throws RateLimiterRes  when the window is full */
  private async consume(limit: RateLimitWindow, key: string): Promise<void> {
    const { redis, memory } = this.limitersFor(limit);
    let cause: unknown;
    if (performance.now() >= this.redisPausedUntil) {
      try {
        await redis.consume(key);
        return;
      } catch (failure) {
        if (failure instanceof RateLimiterRes) throw failure;
        this.redisPausedUntil = performance.now() + REDIS_PAUSE_MS;
        cause = failure;
      }
    }
    if (limit.onRedisDown === 'memory') await memory.consume(key);
    if (limit.onRedisDown === 'refuse') {
      this.observer?.countRefusal(limit.name, 'redis');
      throw new UnavailableError(undefined, { cause, logDetails: { limit: limit.name } });
    }
  }

  /** Windows with the same name and numbers share their limiters, also when each call declares a new object. */
  private limitersFor(limit: RateLimitWindow): Limiters {
    const id = `${limit.name}:${limit.limit}/${limit.windowSeconds}`;
    const limiters = this.limiters.get(id) ?? this.createLimiters(limit);
    this.limiters.set(id, limiters);
    return limiters;
  }

  private createLimiters({ name, limit: points, windowSeconds: duration, countRefused }: RateLimitWindow): Limiters {
    const keyPrefix = countRefused ? `rmm:limit:guess:${name}` : `rmm:limit:${name}`;
    return {
      redis: new RateLimiterRedis({
        storeClient: this.redis.shared,
        keyPrefix,
        points,
        duration,
        customIncrTtlLuaScript: SLIDING_WINDOW_SCRIPT,
      }),
      memory: new RateLimiterMemory({ keyPrefix, points, duration }),
    };
  }
}
