import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { randomUUID } from 'node:crypto';
import type { KeyRing } from '@rmm/secrets';
import type { PublicJwkDto } from './dto/jwks.dto.js';
import type { NewSigningKey } from './signing-keys.repository.js';

export const ALGORITHM = 'ES256';

/** Returns the context that a private key is sealed for. */
export const signingKeySealContext = (kid: string) => `signing_key.private_jwk:${kid}`;

/** Creates a P-256 key with its private part sealed for storage. */
export async function createSigningKey(keyRing: KeyRing): Promise<NewSigningKey> {
  const pair = await generateKeyPair(ALGORITHM, { extractable: true });
  const kid = randomUUID();
  const jwk = { ...(await exportJWK(pair.privateKey)), kid };
  const privateJwkSealed = keyRing.seal(JSON.stringify(jwk), signingKeySealContext(kid));
  return { kid, privateJwkSealed, publicJwk: toPublicJwk(jwk) };
}

/** Returns the public part, without `d`. The key is a complete P-256 key: created here or checked by the configuration. */
export const toPublicJwk = ({ kty, crv, x, y, kid }: JWK): PublicJwkDto =>
  ({ kty, crv, x, y, kid, alg: ALGORITHM, use: 'sig' }) as PublicJwkDto;
