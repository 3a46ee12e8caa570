import { Injectable } from '@nestjs/common';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';

/** Short-lived values in Redis that count once. Redis away: 503, never a guess. */
@Injectable()
export class RedisOnce {
  constructor(private readonly redis: RedisConnections) {}

  /** True for exactly one caller within `ttlSeconds`, anywhere in the fleet. */
  claim(key: string, ttlSeconds: number): Promise<boolean> {
    return this.ask(async () => (await this.redis.shared.set(key, '1', 'EX', ttlSeconds, 'NX')) === 'OK');
  }

  keep(key: string, value: string, ttlSeconds: number): Promise<unknown> {
    return this.ask(() => this.redis.shared.set(key, value, 'EX', ttlSeconds));
  }

  peek(key: string): Promise<string | null> {
    return this.ask(() => this.redis.shared.get(key));
  }

  /** Removes the value; true for the one caller that found it there. */
  consume(key: string): Promise<boolean> {
    return this.ask(async () => (await this.redis.shared.del(key)) === 1);
  }

  private async ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }
}
