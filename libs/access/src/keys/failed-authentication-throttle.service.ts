import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock, RateLimitedError, RateLimits } from '@rmm/service-kit';
import { KeyRateLimited } from '../access.errors.js';

export type KeyKind = 'api_key' | 'partner_key';

const FAILURES = { limit: 300, windowSeconds: 60, onRedisDown: 'refuse', countRefused: true } as const;
const WINDOWS = {
  api_key: { limit: { name: 'api-key-failures', ...FAILURES }, code: 'rate_limited' },
  partner_key: { limit: { name: 'partner-key-failures', ...FAILURES }, code: 'partner_api_auth_rate_limited' },
} as const;
const MAX_BLOCKED = 50_000;

/**
 * Limits failed key authentications to 300 a minute per client address. Only failures are counted, so that a valid key
 * needs no Redis call; an address over the limit is rejected from process memory until its window opens again.
 */
@Injectable()
export class FailedAuthenticationThrottle {
  private readonly blockedUntilMs = new LRUCache<string, number>({ max: MAX_BLOCKED });

  constructor(
    private readonly limits: RateLimits,
    private readonly clock: Clock,
  ) {}

  /** @throws KeyRateLimited  429 when the address is over its limit; decided from memory alone */
  assertNotBlocked(kind: KeyKind, bucket: string): void {
    const until = this.blockedUntilMs.get(`${kind}|${bucket}`);
    if (until === undefined) return;
    const waitMs = until - this.clock.monotonicMs();
    if (waitMs > 0) throw new KeyRateLimited(WINDOWS[kind].code, Math.ceil(waitMs / 1_000));
    this.blockedUntilMs.delete(`${kind}|${bucket}`);
  }

  /**
   * Counts a failure.
   * @throws KeyRateLimited  429 when the failure exceeds the limit
   * @throws UnavailableError  503 when failures cannot be counted
   */
  async recordFailure(kind: KeyKind, bucket: string): Promise<void> {
    const { limit, code } = WINDOWS[kind];
    try {
      await this.limits.hit(limit, bucket);
    } catch (error) {
      if (!(error instanceof RateLimitedError)) throw error;
      const seconds = error.retryAfterSeconds ?? limit.windowSeconds;
      this.blockedUntilMs.set(`${kind}|${bucket}`, this.clock.monotonicMs() + seconds * 1_000);
      throw new KeyRateLimited(code, seconds);
    }
  }
}
