import { randomUUID } from 'node:crypto';
import type { KeyRing } from '@rmm/secrets';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { PublicJwkDto } from './jwks.dto.js';
import type { NewSigningKey } from './signing-keys.repository.js';

export const ALGORITHM = 'ES256';

/** Where a sealed private key belongs. */
export const signingKeySealContext = (kid: string) => `signing_key.private_jwk:${kid}`;

/** Makes a P-256 key; what is to be stored of it is sealed. */
export async function newSigningKey(keyRing: KeyRing): Promise<NewSigningKey> {
  const pair = await generateKeyPair(ALGORITHM, { extractable: true });
  const kid = randomUUID();
  const jwk = { ...(await exportJWK(pair.privateKey)), kid };
  const privateJwkSealed = keyRing.seal(JSON.stringify(jwk), signingKeySealContext(kid));
  return { kid, privateJwkSealed, publicJwk: publicPart(jwk) };
}

/** What may be shown: never `d`. Every key here is a whole P-256 key, made so or checked by the configuration. */
export const publicPart = ({ kty, crv, x, y, kid }: JWK): PublicJwkDto =>
  ({ kty, crv, x, y, kid, alg: ALGORITHM, use: 'sig' }) as PublicJwkDto;
