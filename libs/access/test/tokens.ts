import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { AccessTokenClaims } from '../src/tokens/access-token.js';

export const ISSUER = 'service-identity';
export const AUDIENCE = 'service-api';

/** A P-256 key pair with an id. */
export interface SigningKey {
  kid: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

export function signingKey(kid = 'key-1'): SigningKey {
  return { kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
}

/** Returns the public key as a JWKS lists it. */
export const publicJwk = ({ kid, publicKey }: SigningKey) => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
  alg: 'ES256',
  use: 'sig',
});

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs any header and payload. */
export function signed(key: SigningKey, header: object, payload: object): string {
  const body = `${part({ alg: 'ES256', typ: 'JWT', kid: key.kid, ...header })}.${part(payload)}`;
  const signature = sign('sha256', Buffer.from(body), { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
  return `${body}.${signature.toString('base64url')}`;
}

export const PARTNER_ID = '33333333-3333-4333-8333-333333333333';
export const ORG_ID = '44444444-4444-4444-8444-444444444444';
export const ROLE_ID = '55555555-5555-4555-8555-555555555555';

/** Returns the claims that match `snapshot()`, issued at `nowMs` for 15 minutes. */
export function claims(nowMs: number, changes: Partial<AccessTokenClaims> = {}): AccessTokenClaims {
  const iat = Math.floor(nowMs / 1_000);
  return {
    sub: '11111111-1111-4111-8111-111111111111',
    email: 'ada@msp.example',
    type: 'access',
    scope: 'partner',
    partnerId: PARTNER_ID,
    orgId: null,
    roleId: ROLE_ID,
    mfa: true,
    aep: 1,
    mep: 1,
    sid: '22222222-2222-4222-8222-222222222222',
    iat,
    exp: iat + 900,
    ...changes,
  };
}

export function accessToken(key: SigningKey, nowMs: number, changes: Partial<AccessTokenClaims> = {}): string {
  return signed(key, {}, { ...claims(nowMs, changes), iss: ISSUER, aud: AUDIENCE });
}
