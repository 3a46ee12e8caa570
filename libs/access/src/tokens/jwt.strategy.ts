import { Inject, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { randomUUID } from 'node:crypto';
import passport from 'passport';
import { ExtractJwt, Strategy, type SecretOrKeyProvider } from 'passport-jwt';
import { ACCESS_CONFIG, type AccessConfig } from '../access.config.js';
import { InvalidAccessToken } from '../access.errors.js';
import { type AccessTokenClaims, kidOf, readClaims } from './access-token.js';
import { VerificationKeysService } from './verification-keys.service.js';

/**
 * Verifies the signature (ES256 only), issuer, audience and claims of an access token. `TokenVerifier` checks the
 * lifetime, because a cached token needs that check on every use.
 */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy) {
  /** Passport has one registry per process; the id keeps several applications of one process apart (in specs). */
  readonly registeredName = `jwt-${randomUUID()}`;

  constructor(keys: VerificationKeysService, @Inject(ACCESS_CONFIG) { jwtIssuer, jwtAudience }: AccessConfig) {
    super({
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      algorithms: ['ES256'],
      issuer: jwtIssuer,
      audience: jwtAudience,
      ignoreExpiration: true,
      secretOrKeyProvider: keyProvider(keys),
    });
    passport.use(this.registeredName, this);
  }

  /** Returns the claims as the user of the request; false rejects the token. */
  validate(payload: Record<string, unknown>): AccessTokenClaims | false {
    return readClaims(payload) ?? false;
  }
}

function keyProvider(keys: VerificationKeysService): SecretOrKeyProvider {
  return (_request, token: string, done) => {
    findKey(keys, token).then(
      (key) => done(null, key as never), // jsonwebtoken takes a KeyObject; the types of passport-jwt name text only
      (error: unknown) => done(error),
    );
  };
}

async function findKey(keys: VerificationKeysService, token: string) {
  const kid = kidOf(token);
  const key = kid === null ? null : await keys.find(kid);
  if (key === null) throw new InvalidAccessToken();
  return key;
}
