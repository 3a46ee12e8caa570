import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { RateLimitedError } from '@rmm/errors';
import type { LimitsRedis } from './rate-limits.config.js';
import { LIMITS_REDIS } from './tokens.js';

/** Number of requests of one key that may run at the same time, in the whole fleet. */
export interface ConcurrencyLimit {
  name: string;
  limit: number;
  /** Time after which the slot of a process that died is free again. */
  leaseSeconds: number;
  /** Seconds until the caller may try again. */
  retryAfterSeconds: number;
}

/** Takes a slot in the sorted set of the running requests, which are scored with the end of their lease. */
const ENTER = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`;

/** Limits how many requests run at the same time. While Redis is away each process counts for itself. */
@Injectable()
export class ConcurrencyLimits {
  private readonly running = new Map<string, number>();

  constructor(@Inject(LIMITS_REDIS) private readonly redis: LimitsRedis) {}

  /**
   * Runs `work` when fewer than `limit` of this key run.
   * @param key  what is counted: a partner, a user
   * @throws RateLimitedError  at once, without waiting for a slot
   */
  async run<T>({ name, limit, leaseSeconds, ...refusal }: ConcurrencyLimit, key: string, work: () => Promise<T>) {
    const slot = `rmm:running:${name}:{${key}}`;
    const refuse = () => new RateLimitedError(undefined, { ...refusal, logDetails: { limit: name } });
    const here = this.running.get(slot) ?? 0;
    if (here >= limit) throw refuse();
    this.running.set(slot, here + 1);
    const token = randomUUID();
    try {
      if (!(await this.takeSlot(slot, limit, leaseSeconds * 1_000, token))) throw refuse();
      return await work();
    } finally {
      const left = (this.running.get(slot) ?? 1) - 1;
      if (left > 0) this.running.set(slot, left);
      else this.running.delete(slot);
      await this.redis.shared.zrem(slot, token).catch(() => undefined);
    }
  }

  /** @returns false when all slots are taken; true as well when Redis is away */
  private async takeSlot(slot: string, limit: number, leaseMs: number, token: string): Promise<boolean> {
    try {
      return (await this.redis.shared.eval(ENTER, 1, slot, limit, leaseMs, token)) === 1;
    } catch {
      return true;
    }
  }
}
