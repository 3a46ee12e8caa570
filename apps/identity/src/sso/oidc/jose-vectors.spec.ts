import { constants, createHmac, generateKeyPairSync, randomUUID, sign, verify, type KeyObject } from 'node:crypto';
import { LogoutTokenInvalid, SsoRefused } from '../sso.errors.js';
import { OidcClient, type OidcProvider } from './oidc-client.service.js';
import type { OidcTransport } from './oidc-transport.service.js';

const ISSUER = 'https://idp.example';
const CLIENT = 'rmm';
const LOGIN = { redirectUri: 'https://app.test/callback', state: 'state', nonce: 'nonce', verifier: 'v'.repeat(43) };
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'ES512'] as const;
/** Orders of the groups of the curves, in hexadecimal. */
const ORDERS = {
  ES256: 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
  ES384: 'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
  ES512:
    '01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409',
} as const;
const CURVES = { ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' } as const;

type Algorithm = (typeof ALGORITHMS)[number];
type CurveAlgorithm = keyof typeof ORDERS;
type Json = Record<string, unknown>;

interface Key {
  privateKey: KeyObject;
  publicKey: KeyObject;
  jwk: Json;
}

/** The parts of a token as text: header and payload before their encoding, the signature of the encoded parts. */
interface Parts {
  header: string;
  payload: string;
  sign: (input: string) => Buffer;
}

const encode = (text: string | Buffer): string => Buffer.from(text).toString('base64url');

function newKey(algorithm: Algorithm, modulusLength = 2_048): Key {
  const pair =
    algorithm in CURVES
      ? generateKeyPairSync('ec', { namedCurve: CURVES[algorithm as CurveAlgorithm] })
      : generateKeyPairSync('rsa', { modulusLength });
  return { ...pair, jwk: { ...pair.publicKey.export({ format: 'jwk' }), kid: 'key-1', use: 'sig', alg: algorithm } };
}

/** Signs with node:crypto, independently of the libraries that verify. */
const signWith =
  (algorithm: Algorithm, key: KeyObject) =>
  (input: string): Buffer =>
    sign(`sha${algorithm.slice(2)}`, Buffer.from(input), {
      key,
      ...(algorithm.startsWith('ES') && { dsaEncoding: 'ieee-p1363' as const }),
      ...(algorithm.startsWith('PS') && {
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      }),
    });

const serialize = ({ header, payload, sign: signInput }: Parts): string => {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${encode(signInput(input))}`;
};

/**
 * Cases of the classes that Wycheproof has for JSON Web Signatures, with vectors of our own, through the functions that
 * verify ID tokens and logout tokens.
 */
describe('tokens in the classes of Wycheproof', () => {
  let keys: readonly Json[];
  let idToken: string;
  const openFetch = () => (url: string) => {
    const body =
      new URL(url).pathname === '/jwks'
        ? { keys }
        : { access_token: 'access', token_type: 'Bearer', id_token: idToken };
    return Promise.resolve(
      new Response(JSON.stringify(body), { status: 200, headers: { 'content-type': 'application/json' } }),
    );
  };
  const client = new OidcClient({ openFetch, assertAllowed: () => Promise.resolve() } as unknown as OidcTransport);

  const newProvider = (): OidcProvider => ({
    // Another id each time: keys are remembered by provider.
    ...{ id: randomUUID(), configVersion: 1, issuer: ISSUER, clientId: CLIENT, clientSecret: 'secret', preset: null },
    metadata: {
      authorizationEndpoint: `${ISSUER}/authorize`,
      tokenEndpoint: `${ISSUER}/token`,
      jwksUri: `${ISSUER}/jwks`,
      userInfoEndpoint: null,
      endSessionEndpoint: null,
      signingAlgorithms: [...ALGORITHMS],
      tokenAuthMethods: null,
      namesIssuer: false,
    },
  });

  const verifyIdToken = async (token: string): Promise<boolean> => {
    idToken = token;
    const response = new URLSearchParams({ code: 'code', state: LOGIN.state });
    try {
      return (await client.finish(newProvider(), response, { ...LOGIN, isReauth: false })).subject === 'subject';
    } catch (error) {
      if (!(error instanceof SsoRefused)) throw error;
      return false;
    }
  };
  const verifyLogoutToken = async (token: string): Promise<boolean> => {
    try {
      return (await client.verifyLogoutToken(newProvider(), token)).subject === 'subject';
    } catch (error) {
      if (!(error instanceof LogoutTokenInvalid)) throw error;
      return false;
    }
  };

  const now = () => Math.floor(Date.now() / 1_000);
  const claims = () => ({ iss: ISSUER, aud: CLIENT, sub: 'subject', iat: now(), exp: now() + 300 });
  const kinds = [
    ['an ID token', verifyIdToken, () => ({ ...claims(), nonce: LOGIN.nonce })],
    ['a logout token', verifyLogoutToken, () => ({ ...claims(), jti: 'jti', events: { [LOGOUT_EVENT]: {} } })],
  ] as const;

  describe.each(kinds)('%s', (_kind, accepts, payloadOf) => {
    const payload = () => JSON.stringify(payloadOf());

    describe.each(ALGORITHMS)('of %s', (algorithm) => {
      const key = newKey(algorithm);
      const header = (more: Json = {}) => JSON.stringify({ alg: algorithm, kid: 'key-1', ...more });
      const parts = (more: Partial<Parts> = {}): Parts => ({
        ...{ header: header(), payload: payload(), sign: signWith(algorithm, key.privateKey) },
        ...more,
      });
      const edited = (edit: (parts: [string, string, string]) => string) =>
        edit(serialize(parts()).split('.') as [string, string, string]);
      const flip = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);

      beforeEach(() => {
        keys = [key.jwk];
      });

      it('is accepted when it is valid', async () => expect(await accepts(serialize(parts()))).toBe(true));

      it.each<[string, () => string]>([
        ['a modified signature', () => edited(([h, p, s]) => `${h}.${p}.${flip(s)}`)],
        ['a truncated signature', () => edited(([h, p, s]) => `${h}.${p}.${s.slice(0, -4)}`)],
        ['an extended signature', () => edited(([h, p, s]) => `${h}.${p}.${s}AAAA`)],
        ['no signature', () => edited(([h, p]) => `${h}.${p}.`)],
        ['no signature and no separator', () => edited(([h, p]) => `${h}.${p}`)],
        ['a modified payload', () => edited(([h, p, s]) => `${h}.${flip(p)}.${s}`)],
        ['no payload', () => edited(([h, , s]) => `${h}..${s}`)],
        ['no payload and no separator', () => edited(([h, , s]) => `${h}.${s}`)],
        ['a modified header', () => edited(([, p, s]) => `${encode(header({ x: 1 }))}.${p}.${s}`)],
        ['no header', () => edited(([, p, s]) => `.${p}.${s}`)],
        ['no header and no separator', () => edited(([, p, s]) => `${p}.${s}`)],
        ['no header and no signature', () => edited(([, p]) => `.${p}.`)],
        ['the payload alone', () => edited(([, p]) => p)],
        ['separators alone', () => '..'],
        ['an empty component more', () => edited(([h, p, s]) => `${h}.${p}.${s}.`)],
        ['a component more', () => edited(([h, p, s]) => `${h}.${p}.${s}.foo`)],
        ['alg none without signature', () => edited(([, p]) => `${encode(header({ alg: 'none' }))}.${p}.`)],
        ['alg none with the signature', () => serialize(parts({ header: header({ alg: 'none' }) }))],
        [
          'the JSON serialization',
          () => edited(([h, p, s]) => JSON.stringify({ payload: p, signatures: [{ protected: h, signature: s }] })),
        ],
        [
          'the flattened JSON serialization',
          () => edited(([h, p, s]) => JSON.stringify({ payload: p, protected: h, signature: s })),
        ],
        ['a padded signature', () => edited(([h, p, s]) => `${h}.${p}.${s}==`)],
        ['a space in the signature', () => edited(([h, p, s]) => `${h}.${p}.${s.slice(0, 8)} ${s.slice(8)}`)],
        ['a line break after the signature', () => edited((all) => `${all.join('.')}\n`)],
        ['a character that is not of base64url', () => edited(([h, p, s]) => `${h}.${p}.*${s.slice(1)}`)],
        [
          'a padded header',
          () => {
            const input = `${encode(header())}=.${encode(payload())}`;
            return `${input}.${encode(parts().sign(input))}`;
          },
        ],
        [
          'a padded payload',
          () => {
            const input = `${encode(header())}.${encode(payload())}==`;
            return `${input}.${encode(parts().sign(input))}`;
          },
        ],
        [
          'the header of another algorithm last',
          () => serialize(parts({ header: `{"alg":"${algorithm}","kid":"key-1","alg":"none"}` })),
        ],
        ['a critical header that is unknown', () => serialize(parts({ header: header({ crit: ['x'], x: 1 }) }))],
        ['a critical header that is absent', () => serialize(parts({ header: header({ crit: ['x'] }) }))],
        [
          'an unencoded payload',
          () => {
            const first = encode(header({ b64: false, crit: ['b64'] }));
            const text = payload();
            return `${first}.${text}.${encode(parts().sign(`${first}.${text}`))}`;
          },
        ],
        ['an algorithm in lower case', () => serialize(parts({ header: header({ alg: algorithm.toLowerCase() }) }))],
        ['an algorithm of encryption', () => serialize(parts({ header: header({ alg: 'RSA-OAEP', enc: 'A128GCM' }) }))],
      ])('is refused with %s', async (_title, token) => expect(await accepts(token())).toBe(false));

      it('is refused with the public key as the secret of an HMAC, in each of its forms', async () => {
        const { x, y, n } = key.jwk as Record<string, string | undefined>;
        const der = key.publicKey.export({ type: 'spki', format: 'der' });
        const secrets = [
          der,
          Buffer.from(key.publicKey.export({ type: 'spki', format: 'pem' })),
          Buffer.from(JSON.stringify(key.jwk)),
          Buffer.from(`${x ?? n}${y ?? ''}`),
          Buffer.from(`${x ?? n}${y ?? ''}`, 'base64url'),
          Buffer.from('secret'),
          Buffer.alloc(0),
        ];
        for (const secret of secrets) {
          const hmac = (input: string) => createHmac('sha256', secret).update(input).digest();
          expect(await accepts(serialize(parts({ header: header({ alg: 'HS256' }), sign: hmac })))).toBe(false);
        }
      });

      it('ignores keys in its header, and is refused when they alone fit', async () => {
        const foreign = newKey(algorithm);
        const embedded = {
          ...{ jwk: foreign.jwk, jku: 'https://evil.example/jwks', x5u: 'https://evil.example/cert' },
          ...{ x5c: [foreign.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')], zip: 'DEF' },
        };
        expect(await accepts(serialize(parts({ header: header(embedded) })))).toBe(true);
        const forged = parts({ header: header(embedded), sign: signWith(algorithm, foreign.privateKey) });
        expect(await accepts(serialize(forged))).toBe(false);
      });

      it('is refused with a key for another algorithm, use or operation', async () => {
        const token = serialize(parts());
        for (const more of [{ alg: 'RS512' }, { use: 'enc' }, { key_ops: ['sign'] }, { kty: 'oct', k: 'AAAA' }]) {
          keys = [{ ...key.jwk, ...more }];
          expect(await accepts(token)).toBe(false);
        }
      });

      it('is read by its last member when one is there twice', async () => {
        const twice = `{"alg":"none","kid":"key-1","alg":"${algorithm}"}`;
        expect(await accepts(serialize(parts({ header: twice })))).toBe(true);
        const foreign = `{"iss":"${ISSUER}",${payload().slice(1, -1)},"iss":"https://evil.example"}`;
        expect(await accepts(serialize(parts({ payload: foreign })))).toBe(false);
      });
    });

    describe.each(Object.keys(ORDERS) as CurveAlgorithm[])('with numbers at the edge of %s', (algorithm) => {
      const key = newKey(algorithm);
      const size = { ES256: 32, ES384: 48, ES512: 66 }[algorithm];
      const order = BigInt(`0x${ORDERS[algorithm]}`);
      const toBytes = (value: bigint) => Buffer.from(value.toString(16).padStart(size * 2, '0'), 'hex');
      const readNumber = (bytes: Buffer) => BigInt(`0x${bytes.toString('hex')}`);
      const tokenWith = (change: (r: bigint, s: bigint) => Buffer) =>
        serialize({
          header: JSON.stringify({ alg: algorithm, kid: 'key-1' }),
          payload: payload(),
          sign: (input) => {
            const signature = signWith(algorithm, key.privateKey)(input);
            return change(readNumber(signature.subarray(0, size)), readNumber(signature.subarray(size)));
          },
        });
      const pair = (r: bigint, s: bigint) => Buffer.concat([toBytes(r), toBytes(s)]);

      beforeEach(() => {
        keys = [key.jwk];
      });

      it.each<[string, (r: bigint, s: bigint) => Buffer]>([
        ['r and s of 0', () => pair(0n, 0n)],
        ['r of 0', (_, s) => pair(0n, s)],
        ['s of 0', (r) => pair(r, 0n)],
        ['r and s of 1', () => pair(1n, 1n)],
        ['r of the order', (_, s) => pair(order, s)],
        ['s of the order', (r) => pair(r, order)],
        ['r and s of the order', () => pair(order, order)],
        ['r of the order less 1', (_, s) => pair(order - 1n, s)],
        ['the largest numbers', () => Buffer.alloc(size * 2, 0xff)],
        ['r and s exchanged', (r, s) => pair(s, r)],
        ['the negative of r', (r, s) => pair(order - r, s)],
        ['a leading zero more', (r, s) => Buffer.concat([Buffer.alloc(1), pair(r, s)])],
        ['numbers a byte longer', (r, s) => Buffer.concat([Buffer.alloc(1), toBytes(r), Buffer.alloc(1), toBytes(s)])],
        ['r alone', (r) => toBytes(r)],
      ])('is refused with %s', async (_title, change) => expect(await accepts(tokenWith(change))).toBe(false));

      it('is refused in the encoding of ASN.1', async () => {
        const sign1 = (input: string) => sign(`sha${algorithm.slice(2)}`, Buffer.from(input), key.privateKey);
        const header = JSON.stringify({ alg: algorithm, kid: 'key-1' });
        const token = serialize({ header, payload: payload(), sign: sign1 });
        const [first, second, signature = ''] = token.split('.');
        const isValid = verify(
          `sha${algorithm.slice(2)}`,
          Buffer.from(`${first}.${second}`),
          key.publicKey,
          Buffer.from(signature, 'base64url'),
        );
        expect([isValid, await accepts(token)]).toEqual([true, false]);
      });
    });

    it('is refused with an RSA key of 1,024 bits, or one whose exponent is 1', async () => {
      const weak = newKey('RS256', 1_024);
      const header = JSON.stringify({ alg: 'RS256', kid: 'key-1' });
      const token = serialize({ header, payload: payload(), sign: signWith('RS256', weak.privateKey) });
      keys = [weak.jwk];
      expect(await accepts(token)).toBe(false);
      const key = newKey('RS256');
      keys = [{ ...key.jwk, e: 'AQ' }];
      expect(await accepts(serialize({ header, payload: payload(), sign: signWith('RS256', key.privateKey) }))).toBe(
        false,
      );
    });
  });
});
