import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { SqlExecutor } from '@rmm/persistence';
import { RateLimits, type RateLimit } from '@rmm/rate-limits';
import { Logger, RedisConnections, UnavailableError, ValidationError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { LoginRefusal } from '../login/login.errors.js';
import { LoginMetrics } from '../sessions/login.metrics.js';
import type { User } from '../users/user.types.js';
import { PasswordHasher } from './password-hasher.service.js';
import { CurrentPasswordWrong, PasswordNotSet } from './password.errors.js';
import { PasswordsRepository } from './passwords.repository.js';
import { ResetLinksService } from './reset-links.service.js';

/** A hash with the configured cost parameters, and the one it replaces. */
export interface Rehash {
  oldHash: string;
  newHash: string;
}

/**
 * Counts an attempt before its password is verified, so that concurrent attempts cannot exceed the limit. The window
 * begins with the first one. An attempt over the limit is not counted, so that a lock never extends itself.
 * Returns the number of the attempt, or 0 when it is over the limit.
 */
const RESERVE_ATTEMPT = `
  local attempts = redis.call('INCR', KEYS[1])
  if attempts == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  if attempts <= tonumber(ARGV[1]) then return attempts end
  redis.call('DECR', KEYS[1])
  return 0`;

/**
 * The last admitted attempt failed: the lock begins and lasts a whole window. Returns 1, or 0 when another attempt has
 * cleared the counter since.
 */
const START_LOCK = `
  if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then return 0 end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1`;

/** Gives back an attempt whose password was not verified. */
const RELEASE_ATTEMPT = `
  if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DECR', KEYS[1]) end
  return 0`;

/**
 * Verifies passwords, at login and of signed-in users. Too many failures at login lock the account for a while; login
 * fails closed while Redis is down.
 * @see docs/reference/authentication.md
 * @see docs/reference/rate-limits.md
 */
@Injectable()
export class PasswordVerificationService {
  constructor(
    private readonly redis: RedisConnections,
    private readonly hasher: PasswordHasher,
    private readonly repository: PasswordsRepository,
    private readonly resetLinks: ResetLinksService,
    private readonly limits: RateLimits,
    private readonly logger: Logger,
    private readonly metrics: LoginMetrics,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Verifies a password at login. The attempt counts as a failure from before the hash, so that a burst of concurrent
   * guesses gets no more evaluations than the limit. Takes the time of a hash in every case, so that it does not reveal
   * whether the account exists.
   * @returns null when the password is correct
   * @throws UnavailableError when Redis is down or too many hashes wait; such an attempt is not counted
   */
  async verifyLogin(user: User | null, password: string): Promise<LoginRefusal | null> {
    if (!user?.passwordHash) {
      await this.hasher.verifyDecoy(password);
      return user ? 'no_password' : 'unknown_address';
    }
    const attempt = await this.reserveAttempt(user.id);
    if (attempt === 0) {
      await this.hasher.verifyDecoy(password);
      return 'locked';
    }
    if (await this.verifyReserved(user.id, user.passwordHash, password)) {
      await this.clearLock(user.id);
      return null;
    }
    if (await this.startsLock(user.id, attempt)) {
      this.metrics.countLock();
      await this.resetLinks.sendLockNotice(user);
    }
    return 'wrong_password';
  }

  /**
   * Verifies the current password of a signed-in user, within a rate limit that a correct password resets.
   * @param user  the user of the caller
   * @param limit  the window of the attempts; one for most routes together when absent
   * @throws ValidationError when the password is absent; PasswordNotSet; CurrentPasswordWrong; RateLimitedError
   */
  async verifyCurrent(
    caller: UserCaller,
    user: User,
    currentPassword: string | undefined,
    limit: RateLimit = this.config.limits.currentPassword,
  ): Promise<void> {
    if (currentPassword === undefined) throw ValidationError.forField('currentPassword', 'is required');
    await this.limits.hit(limit, caller.userId);
    if (user.passwordHash === null) throw new PasswordNotSet();
    if (!(await this.hasher.verify(user.passwordHash, currentPassword))) throw new CurrentPasswordWrong();
    await this.limits.reset(limit, caller.userId);
  }

  /** Counts a change of the password; the window also counts those with the correct one. @throws RateLimitedError */
  async countChange({ userId }: UserCaller): Promise<void> {
    await this.limits.hit(this.config.limits.changePassword, userId);
  }

  /** Counts an attempt to set a password by a link. @param client  key of the rate limit @throws RateLimitedError */
  async countReset(client: string): Promise<void> {
    await this.limits.hit(this.config.limits.resetPassword, client);
  }

  /** Hashes a correct password again when the cost parameters were raised; null when they were not. */
  async rehash(user: User, password: string): Promise<Rehash | null> {
    const oldHash = user.passwordHash ?? '';
    return this.hasher.needsRehash(oldHash) ? { oldHash, newHash: await this.hasher.hash(password) } : null;
  }

  /** Stores a rehash, in the transaction of the login. */
  storeRehash(tx: SqlExecutor, user: User, { oldHash, newHash }: Rehash): Promise<void> {
    return this.repository.rehash(tx, user.id, newHash, oldHash);
  }

  /** Ends the lock of an account; a failure is logged only, since the lock ends by itself. */
  async tryClearLock(userId: string): Promise<void> {
    await this.clearLock(userId).catch((err: unknown) => {
      this.logger.warn(
        { err, userId },
        'account lock could not be cleared after a password reset; it expires by itself',
      );
    });
  }

  /** @returns the number of the attempt in its window; 0 when the account is locked */
  private reserveAttempt(userId: string): Promise<number> {
    return this.evaluate(RESERVE_ATTEMPT, userId, 1);
  }

  private async verifyReserved(userId: string, hash: string, password: string): Promise<boolean> {
    try {
      return await this.hasher.verify(hash, password);
    } catch (error) {
      await this.evaluate(RELEASE_ATTEMPT, userId, 0).catch(() => undefined); // else it counts until the window ends
      throw error;
    }
  }

  /** @returns true for the one failure that starts the lock */
  private async startsLock(userId: string, attempt: number): Promise<boolean> {
    if (attempt < this.config.lockout.max) return false;
    return (await this.evaluate(START_LOCK, userId, 0)) === 1;
  }

  /** @param off  the result while rate limits are off */
  private async evaluate(script: string, userId: string, off: number): Promise<number> {
    if (!this.config.rateLimitsEnabled) return off;
    const { max, windowSeconds } = this.config.lockout;
    return this.run(async () =>
      Number(await this.redis.shared.eval(script, 1, lockKeyOf(userId), max, windowSeconds * 1_000)),
    );
  }

  /** Resets the counter after a correct password, also one that leads to the MFA step. */
  private async clearLock(userId: string): Promise<void> {
    if (!this.config.rateLimitsEnabled) return;
    await this.run(() => this.redis.shared.del(lockKeyOf(userId)));
  }

  private async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }
}

const lockKeyOf = (userId: string) => `rmm:identity:lockout:{${userId}}`;
