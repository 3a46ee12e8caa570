import { Inject, Injectable, Optional } from '@nestjs/common';
import { randomInt, randomUUID } from 'node:crypto';
import { RateLimitedError, UnavailableError } from '@rmm/errors';
import type { LimitsObserver, LimitsRedis } from './rate-limits.config.js';
import { LIMITS_OBSERVER, LIMITS_REDIS } from './tokens.js';

/** Number of requests of one key that may run at the same time, in the whole fleet. */
export interface ConcurrencyLimit {
  name: string;
  limit: number;
  /** Time after which the slot of a process that died is free again. */
  leaseSeconds: number;
  /** Seconds until the caller may try again; up to as many are added, so that requests refused together do not return together. */
  retryAfterSeconds: number;
  /** Number of requests of all keys that may run at the same time in one process; when absent, any number, and none is counted. */
  perProcess?: number;
}

/** Takes a slot in the sorted set of the running requests, which are scored with the end of their lease. */
const ACQUIRE = `
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
  private readonly inProcess = new Map<string, number>();

  constructor(
    @Inject(LIMITS_REDIS) private readonly redis: LimitsRedis,
    @Optional() @Inject(LIMITS_OBSERVER) private readonly observer?: LimitsObserver,
  ) {}

  /**
   * Runs `work` when fewer than `limit` of this key run.
   * @param key  what is counted: a partner, a user
   * @throws RateLimitedError  at once, without waiting for a slot; UnavailableError  when this process runs `perProcess`
   */
  async run<T>(
    { name, limit, leaseSeconds, perProcess, retryAfterSeconds: leastSeconds }: ConcurrencyLimit,
    key: string,
    work: () => Promise<T>,
  ) {
    const slot = `rmm:running:${name}:{${key}}`;
    const retryAfterSeconds = randomInt(leastSeconds, 2 * leastSeconds + 1);
    const refuse = () => {
      this.observer?.countRefusal(name, 'limit');
      return new RateLimitedError(undefined, { retryAfterSeconds, logDetails: { limit: name } });
    };
    const here = this.running.get(slot) ?? 0;
    if (here >= limit) throw refuse();
    if (perProcess !== undefined && (this.inProcess.get(name) ?? 0) >= perProcess) {
      this.observer?.countRefusal(name, 'process');
      throw new UnavailableError(undefined, { retryAfterSeconds, logDetails: { limit: name, perProcess } });
    }
    add(this.running, slot, 1);
    if (perProcess !== undefined) add(this.inProcess, name, 1);
    const token = randomUUID();
    try {
      if (!(await this.takeSlot(slot, limit, leaseSeconds * 1_000, token))) throw refuse();
      return await work();
    } finally {
      add(this.running, slot, -1);
      if (perProcess !== undefined) add(this.inProcess, name, -1);
      await this.redis.shared.zrem(slot, token).catch(() => undefined);
    }
  }

  /** @returns false when all slots are taken; true as well when Redis is away */
  private async takeSlot(slot: string, limit: number, leaseMs: number, token: string): Promise<boolean> {
    try {
      return (await this.redis.shared.eval(ACQUIRE, 1, slot, limit, leaseMs, token)) === 1;
    } catch {
      return true;
    }
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
