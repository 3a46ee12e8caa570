import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { SqlExecutor } from '@rmm/persistence';
import { Logger, RateLimits, RedisConnections, UnavailableError, ValidationError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { LoginRefusal } from '../login/login.errors.js';
import type { User } from '../users/user.js';
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
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Verifies a password at login and counts failures; takes the time of a hash in every case, so that it does not reveal
   * whether the account exists.
   * @returns null when the password is correct
   * @throws UnavailableError when Redis is down
   */
  async verifyLogin(user: User | null, password: string): Promise<LoginRefusal | null> {
    const locked = user !== null && (await this.isLocked(user.id));
    const hash = locked ? null : user?.passwordHash;
    if (!user || !hash) {
      await this.hasher.verifyDecoy(password);
      if (!user) return 'unknown_address';
      return locked ? 'locked' : 'no_password';
    }
    if (await this.hasher.verify(hash, password)) {
      await this.clearLock(user.id);
      return null;
    }
    if (await this.countFailure(user.id)) await this.resetLinks.sendLockNotice(user);
    return 'wrong_password';
  }

  /**
   * Verifies the current password of a signed-in user, within a rate limit that a correct password resets.
   * @param user  the user of the caller
   * @throws ValidationError when the password is absent; PasswordNotSet; CurrentPasswordWrong; RateLimitedError
   */
  async verifyCurrent(caller: UserCaller, user: User, currentPassword: string | undefined): Promise<void> {
    if (currentPassword === undefined) throw ValidationError.forField('currentPassword', 'is required');
    await this.limits.hit(this.config.limits.currentPassword, caller.userId);
    if (user.passwordHash === null) throw new PasswordNotSet();
    if (!(await this.hasher.verify(user.passwordHash, currentPassword))) throw new CurrentPasswordWrong();
    await this.limits.reset(this.config.limits.currentPassword, caller.userId);
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

  private isLocked(userId: string): Promise<boolean> {
    if (!this.config.rateLimitsEnabled) return Promise.resolve(false);
    return this.run(async () => Number(await this.redis.shared.get(lockKeyOf(userId))) >= this.config.lockout.max);
  }

  /** @returns true for the one failure that starts the lock */
  private countFailure(userId: string): Promise<boolean> {
    if (!this.config.rateLimitsEnabled) return Promise.resolve(false);
    const { max, windowSeconds } = this.config.lockout;
    return this.run(
      async () => (await this.redis.shared.eval(COUNT_FAILURE, 1, lockKeyOf(userId), max, windowSeconds * 1000)) === 1,
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
