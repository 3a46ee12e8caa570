import { Injectable } from '@nestjs/common';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';

/** Short-lived values in Redis that can be used once. Every method throws UnavailableError when Redis is down. */
@Injectable()
export class OneTimeStore {
  constructor(private readonly redis: RedisConnections) {}

  /** Returns true for exactly one caller in the fleet within `ttlSeconds`. */
  claim(key: string, ttlSeconds: number): Promise<boolean> {
    return this.run(async () => (await this.redis.shared.set(key, '1', 'EX', ttlSeconds, 'NX')) === 'OK');
  }

  async set(key: string, value: string, ttlSeconds: number): Promise<void> {
    await this.run(() => this.redis.shared.set(key, value, 'EX', ttlSeconds));
  }

  /** Returns the value without using it. */
  get(key: string): Promise<string | null> {
    return this.run(() => this.redis.shared.get(key));
  }

  /** Deletes the value. @returns true for exactly one of concurrent callers */
  consume(key: string): Promise<boolean> {
    return this.run(async () => (await this.redis.shared.del(key)) === 1);
  }

  private async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }
}
