import { createRemoteJWKSet, errors } from 'jose';
import { KeyObject } from 'node:crypto';
import { UnavailableError } from '@rmm/service-kit';
import type { VerificationKeys } from '../access.tokens.js';

/** The set is read again in the background after this time, so that withdrawn keys are removed. */
const MAX_AGE_MS = 300_000;
const RETRY_AFTER_FAILURE_MS = 1_000;

/**
 * Reads the public keys of identity from its JWKS with `jose`, which reads the set again for an unknown `kid`, at most
 * once in 30 seconds. Known keys stay valid while the JWKS cannot be read.
 */
export class JwksKeys implements VerificationKeys {
  private readonly jwks: ReturnType<typeof createRemoteJWKSet>;
  private readonly withdrawalListeners: ((kids: string[]) => void)[] = [];
  private knownKids: readonly string[] = [];
  private refreshAtMs = Infinity;
  private failedAtMs = 0;

  constructor(url: string) {
    // Without an age limit: jose would reject known keys when the set is too old and cannot be read.
    this.jwks = createRemoteJWKSet(new URL(url), { cacheMaxAge: Infinity });
  }

  /** Adds a listener for the ids of keys that are no longer in the set; tokens signed by them become invalid. */
  onWithdrawn(listener: (kids: string[]) => void): void {
    this.withdrawalListeners.push(listener);
  }

  async find(kid: string): Promise<KeyObject | null> {
    if (this.knownKids.includes(kid)) this.refreshWhenOld();
    else if (this.hasJustFailed) throw new UnavailableError();
    try {
      return KeyObject.from(await this.jwks({ alg: 'ES256', kid }));
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) return null;
      throw this.unavailable(error);
    } finally {
      this.trackKids();
    }
  }

  /** Reads the set again now. Does nothing before the first read; a failure leaves the known keys in use. */
  async reload(): Promise<void> {
    if (!this.jwks.jwks()) return;
    try {
      await this.jwks.reload();
      this.refreshAtMs = Infinity;
      this.trackKids();
    } catch (error) {
      this.unavailable(error);
    }
  }

  private get hasJustFailed(): boolean {
    return Date.now() - this.failedAtMs < RETRY_AFTER_FAILURE_MS;
  }

  private refreshWhenOld(): void {
    if (Date.now() < this.refreshAtMs || this.jwks.reloading || this.hasJustFailed) return;
    void this.reload();
  }

  /** Notes the time of the failure, which delays the next read. */
  private unavailable(cause: unknown): UnavailableError {
    this.failedAtMs = Date.now();
    return new UnavailableError(undefined, { cause, logDetails: { reason: 'JWKS not readable' } });
  }

  /** Compares the set with the one before and reports the keys that are missing now. */
  private trackKids(): void {
    const set = this.jwks.jwks();
    if (!set) return;
    if (this.refreshAtMs === Infinity) this.refreshAtMs = Date.now() + MAX_AGE_MS;
    const kids = set.keys.flatMap(({ kid }) => (kid === undefined ? [] : [kid]));
    const withdrawn = this.knownKids.filter((kid) => !kids.includes(kid));
    this.knownKids = kids;
    if (withdrawn.length > 0) this.withdrawalListeners.forEach((listener) => listener(withdrawn));
  }
}
