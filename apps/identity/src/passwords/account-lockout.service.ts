import { Inject, Injectable } from '@nestjs/common';
import { Logger, RedisConnections, UnavailableError } from '@rmm/service-kit';
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

/**
 * Locks an account after too many wrong passwords. Login fails closed while Redis is down.
 * @see docs/reference/rate-limits.md
 */
@Injectable()
export class AccountLockout {
  constructor(
    private readonly redis: RedisConnections,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws UnavailableError when Redis is down */
  isLocked(userId: string): Promise<boolean> {
    if (!this.config.rateLimitsEnabled) return Promise.resolve(false);
    return this.run(async () => Number(await this.redis.shared.get(keyOf(userId))) >= this.config.lockout.max);
  }

  /** @returns true for the one failure that starts the lock. @throws UnavailableError when Redis is down */
  countFailure(userId: string): Promise<boolean> {
    if (!this.config.rateLimitsEnabled) return Promise.resolve(false);
    const { max, windowSeconds } = this.config.lockout;
    return this.run(
      async () => (await this.redis.shared.eval(COUNT_FAILURE, 1, keyOf(userId), max, windowSeconds * 1000)) === 1,
    );
  }

  /** Resets the counter after a correct password, also one that leads to the MFA step. @throws UnavailableError */
  async clear(userId: string): Promise<void> {
    if (!this.config.rateLimitsEnabled) return;
    await this.run(() => this.redis.shared.del(keyOf(userId)));
  }

  /** Resets the counter; a failure is logged only, since the lock ends by itself. */
  async tryClear(userId: string): Promise<void> {
    await this.clear(userId).catch((err: unknown) => {
      this.logger.warn(
        { err, userId },
        'account lock could not be cleared after a password reset; it expires by itself',
      );
    });
  }

  private async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }
}

const keyOf = (userId: string) => `rmm:identity:lockout:{${userId}}`;
