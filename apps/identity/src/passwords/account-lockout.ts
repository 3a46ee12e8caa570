import { Inject, Injectable } from '@nestjs/common';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';

/**
 * Counts a failure. The window begins with the first one; the failure that reaches the limit begins the lock, which
 * then lasts a whole window. Failures during a lock are not counted, so that a lock never extends itself.
 * Returns 1 when this failure started the lock.
 */
const COUNT_FAILURE = `
  local failures = redis.call('INCR', KEYS[1])
  if failures == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  if failures == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1 end
  return 0`;

/** The lock-out of an account after too many wrong passwords. Without Redis nobody passes. @see CONTRACT.md 3 */
@Injectable()
export class AccountLockout {
  constructor(
    private readonly redis: RedisConnections,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws UnavailableError when Redis is away */
  isLocked(userId: string): Promise<boolean> {
    if (!this.config.rateLimitsEnabled) return Promise.resolve(false);
    return this.ask(async () => Number(await this.redis.shared.get(keyOf(userId))) >= this.config.lockout.max);
  }

  /** @returns true for the one failure that starts the lock. @throws UnavailableError when Redis is away */
  countFailure(userId: string): Promise<boolean> {
    if (!this.config.rateLimitsEnabled) return Promise.resolve(false);
    const { max, windowSeconds } = this.config.lockout;
    return this.ask(
      async () => (await this.redis.shared.eval(COUNT_FAILURE, 1, keyOf(userId), max, windowSeconds * 1000)) === 1,
    );
  }

  /** After a success, also one that leads to the MFA step. */
  async clear(userId: string): Promise<void> {
    if (!this.config.rateLimitsEnabled) return;
    await this.ask(() => this.redis.shared.del(keyOf(userId)));
  }

  private async ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }
}

const keyOf = (userId: string) => `rmm:identity:lockout:{${userId}}`;
