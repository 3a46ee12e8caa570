import { LRUCache } from 'lru-cache';
import type { CredentialChanged } from '@rmm/contracts';
import type { Clock } from '@rmm/service-kit';

/** A key that was not found is not looked up again for this time. */
export const UNKNOWN_KEY_TTL_MS = 10_000;
const MAX_UNKNOWN = 50_000;

/** Remembers the hashes that no key has, so that a client that repeats a wrong key causes no look-ups. */
export class UnknownKeys {
  /** When each hash is forgotten, by the monotonic clock. */
  private readonly untilMs = new LRUCache<string, number>({ max: MAX_UNKNOWN });

  constructor(private readonly clock: Clock) {}

  has(keyHash: string): boolean {
    const untilMs = this.untilMs.get(keyHash);
    return untilMs !== undefined && this.clock.monotonicMs() < untilMs;
  }

  /** Remembers that no key has this hash. */
  add(keyHash: string): void {
    this.untilMs.set(keyHash, this.clock.monotonicMs() + UNKNOWN_KEY_TTL_MS);
  }

  /** Forgets the keys that were created; all of them when a tenant changed, whose keys are not found while it is inactive. */
  onCredentialsChanged({ keyHashes, partnerIds = [], orgIds = [] }: CredentialChanged): void {
    if (partnerIds.length > 0 || orgIds.length > 0) return this.clear();
    for (const hex of keyHashes) this.untilMs.delete(Buffer.from(hex, 'hex').toString('base64'));
  }

  clear(): void {
    this.untilMs.clear();
  }
}
