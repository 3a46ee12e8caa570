import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { RateLimits } from '@rmm/rate-limits';
import { Clock, RateLimitedError } from '@rmm/service-kit';
import { KeyRateLimited } from '../access.errors.js';

export type CredentialKind = 'api_key' | 'partner_key' | 'agent_token' | 'scim_token';

const FAILURES = { limit: 300, windowSeconds: 60, onRedisDown: 'refuse', countRefused: true } as const;
const WINDOWS = {
  api_key: { limit: { name: 'api-key-failures', ...FAILURES }, code: 'rate_limited' },
  partner_key: { limit: { name: 'partner-key-failures', ...FAILURES }, code: 'partner_api_auth_rate_limited' },
  agent_token: { limit: { name: 'agent-token-failures', ...FAILURES }, code: 'rate_limited' },
  scim_token: { limit: { name: 'scim-token-failures', ...FAILURES }, code: 'rate_limited' },
} as const;
const MAX_BLOCKED = 50_000;

/**
 * Limits failed authentications with keys, agent tokens and SCIM tokens to 300 a minute per client address. Only failures are counted, so that a valid key
 * needs no Redis call; an address over the limit is rejected from process memory until its window opens again.
 */
@Injectable()
export class FailedAuthenticationThrottle {
  /** Look-ups in progress per kind and address. */
  private readonly lookUps = new Map<string, number>();
  private readonly blockedUntilMs = new LRUCache<string, number>({ max: MAX_BLOCKED });

  constructor(
    private readonly limits: RateLimits,
    private readonly clock: Clock,
  ) {}

  /** @throws KeyRateLimited  429 when the address is over its limit; decided from memory alone */
  assertNotBlocked(kind: CredentialKind, bucket: string): void {
    const until = this.blockedUntilMs.get(`${kind}|${bucket}`);
    if (until === undefined) return;
    const waitMs = until - this.clock.monotonicMs();
    if (waitMs > 0) throw new KeyRateLimited(WINDOWS[kind].code, Math.ceil(waitMs / 1_000));
    this.blockedUntilMs.delete(`${kind}|${bucket}`);
  }

  /**
   * Runs a look-up. Failures are counted after it, so an address has at most as many look-ups at a time as it may have
   * failures.
   * @throws KeyRateLimited  429 when more of them are in progress
   */
  async limitLookUps<T>(kind: CredentialKind, bucket: string, lookUp: () => Promise<T>): Promise<T> {
    const id = `${kind}|${bucket}`;
    const running = this.lookUps.get(id) ?? 0;
    if (running >= FAILURES.limit) throw new KeyRateLimited(WINDOWS[kind].code, 1);
    this.lookUps.set(id, running + 1);
    try {
      return await lookUp();
    } finally {
      const left = (this.lookUps.get(id) ?? 1) - 1;
      if (left === 0) this.lookUps.delete(id);
      else this.lookUps.set(id, left);
    }
  }

  /**
   * Counts a failure.
   * @throws KeyRateLimited  429 when the failure exceeds the limit
   * @throws UnavailableError  503 when failures cannot be counted
   */
  async recordFailure(kind: CredentialKind, bucket: string): Promise<void> {
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
