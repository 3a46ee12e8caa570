import type { Clock } from '@rmm/service-kit';
import passport from 'passport';
import type { VerificationKeys } from '../access.tokens.js';
import { InvalidAccessToken } from '../access.errors.js';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import { type AccessTokenClaims, isInForce } from './access-token.js';
import { JwtStrategy, kidOf, unavailability } from './jwt.strategy.js';
import { VerifiedTokens } from './verified-tokens.service.js';

export interface TokenVerifierOptions {
  keys: VerificationKeys & { onWithdrawn?(listener: (kids: string[]) => void): void };
  issuer: string;
  audience: string;
  clock: Clock;
}

/** Step 1 of CONTRACT.md 2.4: is this a token of ours, in force? */
export class TokenVerifier {
  private readonly remembered: VerifiedTokens;
  private readonly strategy: JwtStrategy;
  private readonly clock: Clock;

  constructor({ keys, issuer, audience, clock }: TokenVerifierOptions) {
    this.strategy = new JwtStrategy({ keys, issuer, audience });
    this.remembered = new VerifiedTokens(clock);
    this.clock = clock;
    keys.onWithdrawn?.((kids) => this.remembered.forgetKeys(kids));
  }

  /**
   * @param token  the bearer token of `request`
   * @throws InvalidAccessToken  401, whatever is wrong with it
   * @throws UnavailableError  503 when the public keys cannot be read
   */
  async verify(request: AccessRequest, response: AccessResponse, token: string): Promise<AccessTokenClaims> {
    const known = this.remembered.find(token);
    if (known) return known;
    const claims = await this.authenticate(request, response);
    if (!isInForce(claims, this.clock.nowMs())) throw new InvalidAccessToken();
    this.remembered.remember(token, claims, kidOf(token) ?? '');
    return claims;
  }

  private authenticate(request: AccessRequest, response: AccessResponse): Promise<AccessTokenClaims> {
    return new Promise((resolve, reject) => {
      const done = (err: unknown, claims?: AccessTokenClaims | false | null, info?: unknown) => {
        if (claims) resolve(claims);
        else reject(err instanceof Error ? err : (unavailability(info) ?? new InvalidAccessToken()));
      };
      // Not by name, since passport's registry is one per process and a spec runs several apps; and a copy for each
      // request, since passport writes this request's outcome functions onto what it is given.
      const strategy = Object.create(this.strategy) as JwtStrategy;
      const handler = passport.authenticate(strategy, { session: false }, done) as PassportHandler;
      handler(request, response, reject);
    });
  }
}

type PassportHandler = (request: AccessRequest, response: AccessResponse, next: (err?: unknown) => void) => void;
