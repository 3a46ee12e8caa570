import { cose, decodeCredentialPublicKey } from '@simplewebauthn/server/helpers';
import { createPublicKey, type JsonWebKey } from 'node:crypto';

/** EdDSA, ES256 and RS256: what every authenticator supports one of. */
export const ALGORITHMS = [cose.COSEALG.EdDSA, cose.COSEALG.ES256, cose.COSEALG.RS256];

const MIN_RSA_BITS = 2_048;
const MAX_RSA_BITS = 8_192;

/**
 * Checks whether a COSE key is one that signatures can be trusted of: of an offered algorithm, on its curve, and RSA
 * keys of 2,048 bits or more. Without an attestation nothing else verifies a key before its first use.
 */
export function isStrongKey(publicKey: Uint8Array<ArrayBuffer>): boolean {
  try {
    const key = createPublicKey({ key: toJwk(decodeCredentialPublicKey(publicKey)), format: 'jwk' });
    const bits = key.asymmetricKeyDetails?.modulusLength;
    return bits === undefined || (bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS);
  } catch {
    return false;
  }
}

/** @throws for keys of another type, curve or algorithm */
function toJwk(key: cose.COSEPublicKey): JsonWebKey {
  const alg = key.get(cose.COSEKEYS.alg);
  if (cose.isCOSEPublicKeyEC2(key) && alg === cose.COSEALG.ES256 && key.get(cose.COSEKEYS.crv) === cose.COSECRV.P256) {
    return { kty: 'EC', crv: 'P-256', x: text(key.get(cose.COSEKEYS.x)), y: text(key.get(cose.COSEKEYS.y)) };
  }
  if (
    cose.isCOSEPublicKeyOKP(key) &&
    alg === cose.COSEALG.EdDSA &&
    key.get(cose.COSEKEYS.crv) === cose.COSECRV.ED25519
  ) {
    return { kty: 'OKP', crv: 'Ed25519', x: text(key.get(cose.COSEKEYS.x)) };
  }
  if (cose.isCOSEPublicKeyRSA(key) && alg === cose.COSEALG.RS256) {
    return { kty: 'RSA', n: text(key.get(cose.COSEKEYS.n)), e: text(key.get(cose.COSEKEYS.e)) };
  }
  throw new Error('unsupported key');
}

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('base64url');
