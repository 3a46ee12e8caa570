import type { Clock } from '@rmm/service-kit';
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type AccessTokenClaims, isInForce } from './access-token.js';

/** About 1 KB each. */
const MAX_TOKENS = 20_000;

interface Remembered {
  claims: AccessTokenClaims;
  kid: string;
}

/**
 * Tokens whose signature was checked, by SHA-256, until they expire: a warm request costs no signature check.
 * Whether the session behind one is still alive is the snapshot's to say.
 */
export class VerifiedTokens {
  private readonly tokens: LRUCache<string, Remembered>;

  constructor(
    private readonly clock: Clock,
    max = MAX_TOKENS,
  ) {
    this.tokens = new LRUCache({ max });
  }

  find(token: string): AccessTokenClaims | null {
    const id = idOf(token);
    const known = this.tokens.get(id);
    if (known === undefined) return null;
    if (isInForce(known.claims, this.clock.nowMs())) return known.claims;
    this.tokens.delete(id);
    return null;
  }

  remember(token: string, claims: AccessTokenClaims, kid: string): void {
    this.tokens.set(idOf(token), { claims, kid });
  }

  /** Forgets what these keys signed. */
  forgetKeys(kids: readonly string[]): void {
    for (const [id, { kid }] of this.tokens.entries()) if (kids.includes(kid)) this.tokens.delete(id);
  }

  get size(): number {
    return this.tokens.size;
  }
}

const idOf = (token: string): string => hash('sha256', token, 'base64');
