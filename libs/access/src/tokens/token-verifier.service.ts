import { Injectable } from '@nestjs/common';
import { Clock } from '@rmm/service-kit';
import { InvalidAccessToken } from '../access.errors.js';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import { type AccessTokenClaims, isWithinLifetime, kidOf } from './access-token.js';
import { JwtAuthGuard } from './jwt-auth.guard.js';
import { VerificationKeysService } from './verification-keys.service.js';
import { VerifiedTokens } from './verified-tokens.service.js';

/** Verifies access tokens: from the cache of verified tokens, else by passport. */
@Injectable()
export class TokenVerifier {
  constructor(
    private readonly passport: JwtAuthGuard,
    private readonly verified: VerifiedTokens,
    private readonly clock: Clock,
    keys: VerificationKeysService,
  ) {
    keys.onWithdrawn((kids) => verified.removeSignedBy(kids));
  }

  /** Returns the claims of a token that was verified before, or null. */
  findVerified(token: string): AccessTokenClaims | null {
    return this.verified.find(token);
  }

  /**
   * @param token  the bearer token of `request`
   * @throws InvalidAccessToken  401, the same for every defect
   * @throws UnavailableError  503 when the public keys cannot be read
   */
  async verify(request: AccessRequest, response: AccessResponse, token: string): Promise<AccessTokenClaims> {
    const known = this.findVerified(token);
    if (known) return known;
    const claims = await this.passport.verify(request, response);
    if (!isWithinLifetime(claims, this.clock.nowMs())) throw new InvalidAccessToken();
    this.verified.store(token, claims, kidOf(token) ?? '');
    return claims;
  }
}
