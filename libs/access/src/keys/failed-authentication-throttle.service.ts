import { type Clock, RateLimitedError, type RateLimits } from '@rmm/service-kit';
import { LRUCache } from 'lru-cache';
import { KeyRateLimited } from '../access.errors.js';

const LIMIT = 300;
const WINDOW_SECONDS = 60;
const MAX_REFUSED = 50_000;

export type ProbeKind = 'api_key' | 'partner_key';

const KINDS = {
  api_key: { name: 'api-key-probe', code: 'rate_limited' },
  partner_key: { name: 'partner-key-probe', code: 'partner_api_auth_rate_limited' },
} as const;

/**
 * Guessing keys: an address may fail 300 times a minute. Only failures are charged, so a good key costs no trip; an
 * address over its limit is refused from a list in process until its window opens again.
 * @see CONTRACT.md 3
 */
export class FailedAuthenticationThrottle {
  private readonly refusedUntilMs: LRUCache<string, number>;

  constructor(
    private readonly limits: Pick<RateLimits, 'hit'>,
    private readonly clock: Clock,
  ) {
    this.refusedUntilMs = new LRUCache({ max: MAX_REFUSED });
  }

  /** @throws KeyRateLimited  429, from memory alone */
  assertOpen(kind: ProbeKind, bucket: string): void {
    const until = this.refusedUntilMs.get(`${kind}|${bucket}`);
    if (until === undefined) return;
    const waitMs = until - this.clock.nowMs();
    if (waitMs > 0) throw new KeyRateLimited(KINDS[kind].code, Math.ceil(waitMs / 1_000));
    this.refusedUntilMs.delete(`${kind}|${bucket}`);
  }

  /**
   * Charges a failure.
   * @throws KeyRateLimited  429 when it was one too many
   * @throws UnavailableError  503 when failures cannot be counted
   */
  async failed(kind: ProbeKind, bucket: string): Promise<void> {
    const { name, code } = KINDS[kind];
    try {
      await this.limits.hit(
        { name, limit: LIMIT, windowSeconds: WINDOW_SECONDS, onRedisDown: 'refuse', countRefused: true },
        bucket,
      );
    } catch (error) {
      if (!(error instanceof RateLimitedError)) throw error;
      const seconds = error.retryAfterSeconds ?? WINDOW_SECONDS;
      this.refusedUntilMs.set(`${kind}|${bucket}`, this.clock.nowMs() + seconds * 1_000);
      throw new KeyRateLimited(code, seconds);
    }
  }
}
