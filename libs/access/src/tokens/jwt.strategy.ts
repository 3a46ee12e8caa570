import { PassportStrategy } from '@nestjs/passport';
import type { VerificationKeys } from '../access.tokens.js';
import { DomainError, UnavailableError } from '@rmm/service-kit';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { type AccessTokenClaims, readClaims } from './access-token.js';

export interface JwtStrategyOptions {
  keys: VerificationKeys;
  issuer: string;
  audience: string;
}

/** A token longer than this is not one of ours. */
const MAX_TOKEN_CHARACTERS = 8_192;

/**
 * Checks signature (ES256 only), issuer, audience and form of an access token. The lifetime is the caller's to check,
 * with the injected clock, since a remembered token needs it on every use.
 * @see CONTRACT.md 2.1
 */
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') {
  constructor({ keys, issuer, audience }: JwtStrategyOptions) {
    super({
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      algorithms: ['ES256'],
      issuer,
      audience,
      ignoreExpiration: true,
      secretOrKeyProvider: (_request: unknown, token: string, done: (err: unknown, key?: never) => void) => {
        findKey(keys, token).then((key) => done(null, key as never), done);
      },
    });
  }

  /** Passport's verify callback: what it returns is the request's user. */
  validate(payload: Record<string, unknown>): AccessTokenClaims | false {
    return readClaims(payload) ?? false;
  }
}

class UnknownKey extends Error {}

async function findKey(keys: VerificationKeys, token: string) {
  const kid = kidOf(token);
  const key = kid === null ? null : await keys.find(kid);
  if (key === null) throw new UnknownKey('no key of this id');
  return key;
}

/** The `kid` of a token in the only form we sign: three parts, header ES256 without extensions. */
export function kidOf(token: string): string | null {
  if (token.length > MAX_TOKEN_CHARACTERS) return null;
  const parts = token.split('.');
  if (parts.length !== 3) return null;
  try {
    const header = JSON.parse(Buffer.from(parts[0], 'base64url').toString('utf8')) as Record<string, unknown>;
    const plain = header.alg === 'ES256' && header.crit === undefined;
    return plain && typeof header.kid === 'string' && header.kid.length <= 200 ? header.kid : null;
  } catch {
    return null;
  }
}

/** Did passport fail because the keys cannot be read now, rather than because the token is bad? */
export function unavailability(failure: unknown): DomainError | null {
  return failure instanceof UnavailableError ? failure : null;
}
