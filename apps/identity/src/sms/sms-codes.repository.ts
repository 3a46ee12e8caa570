import { Injectable } from '@nestjs/common';
import { hashKey } from '@rmm/secrets';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';

const TTL_SECONDS = 300;
const MAX_TRIES = 5;

/** The use of a code. A code of one purpose, user, session or login is none of another. */
export type SmsPurpose =
  { purpose: 'phone' | 'step-up'; userId: string; sessionId: string } | { purpose: 'login'; tempToken: string };

/**
 * Counts a try before its code is compared, so that concurrent guesses get no more comparisons than the limit. Returns the
 * hash, or nil when there is no code or its tries are used up.
 */
const TRY = `
  local hash = redis.call('HGET', KEYS[1], 'hash')
  if not hash or redis.call('HINCRBY', KEYS[1], 'tries', 1) > tonumber(ARGV[1]) then return nil end
  return hash`;

/** Deletes the code if it is still the one that was compared. Returns 1 for exactly one caller. */
const CONSUME = `
  if redis.call('HGET', KEYS[1], 'hash') ~= ARGV[1] then return 0 end
  return redis.call('DEL', KEYS[1])`;

/**
 * Hashes of the codes that were sent by SMS, in Redis, for five minutes and five tries. A new code replaces the one
 * before. Every method throws UnavailableError when Redis is down.
 */
@Injectable()
export class SmsCodesRepository {
  constructor(private readonly redis: RedisConnections) {}

  async save(purpose: SmsPurpose, hash: string): Promise<void> {
    const key = keyOf(purpose);
    await this.run(() => this.redis.shared.multi().del(key).hset(key, { hash }).expire(key, TTL_SECONDS).exec());
  }

  /** Returns the hash to compare with, at most five times. */
  async countTry(purpose: SmsPurpose): Promise<string | null> {
    const hash = await this.run(() => this.redis.shared.eval(TRY, 1, keyOf(purpose), MAX_TRIES));
    return typeof hash === 'string' ? hash : null;
  }

  /** @returns true for exactly one of concurrent callers */
  async consume(purpose: SmsPurpose, hash: string): Promise<boolean> {
    return (await this.run(() => this.redis.shared.eval(CONSUME, 1, keyOf(purpose), hash))) === 1;
  }

  private async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }
}

/** Returns what a code is bound to, as text. */
export const bindingOf = (purpose: SmsPurpose): string =>
  purpose.purpose === 'login'
    ? `${purpose.purpose}|${purpose.tempToken}`
    : `${purpose.purpose}|${purpose.userId}|${purpose.sessionId}`;

const keyOf = (purpose: SmsPurpose): string => `rmm:identity:sms-code:{${hashKey(bindingOf(purpose)).toString('hex')}}`;
