import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { hash } from 'node:crypto';
import { Clock } from '@rmm/service-kit';
import { type AccessTokenClaims, isWithinLifetime } from './access-token.js';

/** About 1 KB each. */
const MAX_TOKENS = 20_000;

interface VerifiedToken {
  claims: AccessTokenClaims;
  kid: string;
}

/**
 * Caches the claims of verified tokens by SHA-256 until they expire, so that a signature is verified once. The session
 * behind a token is not checked here but in its access snapshot.
 */
@Injectable()
export class VerifiedTokens {
  private readonly tokens = new LRUCache<string, VerifiedToken>({ max: MAX_TOKENS });

  constructor(private readonly clock: Clock) {}

  find(token: string): AccessTokenClaims | null {
    const id = idOf(token);
    const known = this.tokens.get(id);
    if (known === undefined) return null;
    if (isWithinLifetime(known.claims, this.clock.nowMs())) return known.claims;
    this.tokens.delete(id);
    return null;
  }

  store(token: string, claims: AccessTokenClaims, kid: string): void {
    this.tokens.set(idOf(token), { claims, kid });
  }

  /** Removes the tokens that these keys signed. */
  removeSignedBy(kids: readonly string[]): void {
    for (const [id, { kid }] of this.tokens.entries()) if (kids.includes(kid)) this.tokens.delete(id);
  }
}

const idOf = (token: string): string => hash('sha256', token, 'base64');
