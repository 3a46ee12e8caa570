import { constants, generateKeyPairSync, randomUUID, sign, type KeyObject, type SignKeyObjectInput } from 'node:crypto';
import type { CustomFetch } from 'openid-client';
import { SsoRefused } from '../sso.errors.js';
import { OidcClient, type OidcProvider } from './oidc-client.service.js';
import type { OidcTransport } from './oidc-transport.service.js';

const ISSUER = 'https://idp.example';
const CLIENT = 'rmm';
const NONCE = 'a nonce of this login';
const REQUEST = { redirectUri: 'https://app.test/callback', state: 'state', nonce: NONCE, verifier: 'v'.repeat(43) };

type Algorithm = `${'RS' | 'PS' | 'ES'}${256 | 384 | 512}`;
type Json = Record<string, unknown>;

/** A key of a provider, which signs with node:crypto: independent of the libraries that verify. */
interface Key {
  privateKey: KeyObject;
  jwk: Json;
}

const CURVES = { ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' } as const;
const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function newKey(algorithm: Algorithm, { bits = 2_048, kid = 'key-1' } = {}): Key {
  const curve = CURVES[algorithm as keyof typeof CURVES] as string | undefined;
  const { privateKey, publicKey } = curve
    ? generateKeyPairSync('ec', { namedCurve: curve })
    : generateKeyPairSync('rsa', { modulusLength: bits });
  return { privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: algorithm } };
}

function signatureOf(algorithm: string, input: string, key: KeyObject, more: Partial<SignKeyObjectInput> = {}): Buffer {
  const isPss = algorithm.startsWith('PS');
  const options: SignKeyObjectInput = {
    key,
    ...(algorithm.startsWith('ES') && { dsaEncoding: 'ieee-p1363' as const }),
    ...(isPss && { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }),
    ...more,
  };
  return sign(`sha${algorithm.slice(2)}`, Buffer.from(input), options);
}

/** The parts of a token before they are joined. */
interface Token {
  header: Json;
  payload: Json;
  signature: (input: string) => Buffer;
}

describe('the verification of ID tokens', () => {
  const rsa = newKey('RS256');
  const ec = newKey('ES256');
  let responses: Record<string, { status: number; body: string }>;
  const calls: string[] = [];
  const openFetch = (): CustomFetch => (url) => {
    const { pathname } = new URL(url);
    calls.push(pathname);
    const { status, body } = responses[pathname] ?? { status: 404, body: '{}' };
    return Promise.resolve(new Response(body, { status, headers: { 'content-type': 'application/json' } }));
  };
  const client = new OidcClient({ openFetch, assertAllowed: () => Promise.resolve() } as unknown as OidcTransport);

  const providerWith = (more: Partial<OidcProvider['metadata']> = {}): OidcProvider => ({
    // Another id each time: keys are remembered by provider.
    ...{ id: randomUUID(), configVersion: 1, issuer: ISSUER, clientId: CLIENT, clientSecret: 'secret', preset: null },
    metadata: {
      authorizationEndpoint: `${ISSUER}/authorize`,
      tokenEndpoint: `${ISSUER}/token`,
      jwksUri: `${ISSUER}/jwks`,
      userInfoEndpoint: null,
      endSessionEndpoint: null,
      signingAlgorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'],
      tokenAuthMethods: null,
      namesIssuer: false,
      ...more,
    },
  });
  const now = () => Math.floor(Date.now() / 1_000);
  const claims = (more: Json = {}): Json => ({
    ...{ iss: ISSUER, aud: CLIENT, sub: 'subject', nonce: NONCE, iat: now(), exp: now() + 300 },
    ...more,
  });
  const tokenOf = (algorithm: string, { privateKey, jwk }: Key): Token => ({
    header: { alg: algorithm, kid: jwk.kid },
    payload: claims(),
    signature: (input) => signatureOf(algorithm, input, privateKey),
  });
  const serialize = ({ header, payload, signature }: Token): string => {
    const input = `${encode(header)}.${encode(payload)}`;
    return `${input}.${signature(input).toString('base64url')}`;
  };
  /** Completes a login whose provider sends this token. @returns the subject, or the code of the refusal */
  const finish = async (
    token: string,
    keys: readonly Json[] = [rsa.jwk, ec.jwk],
    { provider = providerWith(), response = {} }: { provider?: OidcProvider; response?: Record<string, string> } = {},
  ): Promise<string> => {
    const tokens = { access_token: 'access', token_type: 'Bearer', id_token: token };
    responses = {
      '/token': { status: 200, body: JSON.stringify(tokens) },
      '/jwks': { status: 200, body: JSON.stringify({ keys }) },
    };
    calls.length = 0;
    const parameters = new URLSearchParams({ code: 'code', state: REQUEST.state, ...response });
    try {
      return (await client.finish(provider, parameters, { ...REQUEST, isReauth: false })).subject;
    } catch (error) {
      if (!(error instanceof SsoRefused)) throw error;
      return error.code;
    }
  };

  describe.each<Algorithm>(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'])(
    'with %s',
    (algorithm) => {
      const key = newKey(algorithm);
      const other = newKey(algorithm);
      const refused = 'sso_provider_unverified';

      it('accepts the signature of the key, and that of no other', async () => {
        expect(await finish(serialize(tokenOf(algorithm, key)), [key.jwk])).toBe('subject');
        expect(await finish(serialize(tokenOf(algorithm, { ...key, privateKey: other.privateKey })), [key.jwk])).toBe(
          refused,
        );
      });

      it('refuses signatures that are empty, zero, truncated, longer or of another encoding', async () => {
        const token = tokenOf(algorithm, key);
        const forged: ((signature: Buffer, input: string) => Buffer)[] = [
          () => Buffer.alloc(0),
          (signature) => Buffer.alloc(signature.length),
          (signature) => Buffer.alloc(signature.length, 0xff),
          (signature) => signature.subarray(0, -1),
          (signature) => signature.subarray(1),
          (signature) => Buffer.concat([signature, Buffer.alloc(1)]),
          (signature) => Buffer.concat([Buffer.alloc(1), signature]),
          (signature) => Buffer.from(signature).reverse(),
          (_, input) => signatureOf(algorithm, `${input} `, key.privateKey),
        ];
        if (algorithm.startsWith('ES')) {
          forged.push((_, input) => signatureOf(algorithm, input, key.privateKey, { dsaEncoding: 'der' }));
        } else {
          const another = algorithm.startsWith('PS') ? constants.RSA_PKCS1_PADDING : constants.RSA_PKCS1_PSS_PADDING;
          forged.push((_, input) => signatureOf(algorithm, input, key.privateKey, { padding: another }));
        }
        if (algorithm.startsWith('PS')) {
          forged.push((_, input) => signatureOf(algorithm, input, key.privateKey, { saltLength: 0 }));
        }
        // One that begins with a zero is the same number without it, which OpenSSL accepts for PSS.
        const sign = (input: string): Buffer => {
          const signature = token.signature(input);
          return algorithm.startsWith('PS') && signature[0] === 0 ? sign(input) : signature;
        };
        for (const forge of forged) {
          const signature = (input: string) => forge(sign(input), input);
          expect(await finish(serialize({ ...token, signature }), [key.jwk])).toBe(refused);
        }
      });
    },
  );

  describe('keys', () => {
    const weak = newKey('RS256', { bits: 1_024 });
    const p384 = newKey('ES384');
    const cases: [title: string, token: () => string, keys: () => Json[]][] = [
      ['an RSA key of 1,024 bits', () => serialize(tokenOf('RS256', weak)), () => [weak.jwk]],
      ['a key of another curve', () => serialize(tokenOf('ES256', p384)), () => [{ ...p384.jwk, alg: undefined }]],
      ['a key for encryption', () => serialize(tokenOf('RS256', rsa)), () => [{ ...rsa.jwk, use: 'enc' }]],
      [
        'a key whose operations are others',
        () => serialize(tokenOf('RS256', rsa)),
        () => [{ ...rsa.jwk, use: undefined, key_ops: ['encrypt'] }],
      ],
      ['a key of another algorithm', () => serialize(tokenOf('RS256', rsa)), () => [{ ...rsa.jwk, alg: 'PS256' }]],
      ['another kid', () => serialize(tokenOf('RS256', rsa)), () => [{ ...rsa.jwk, kid: 'key-2' }]],
      [
        'no kid while two keys fit',
        () => serialize({ ...tokenOf('RS256', rsa), header: { alg: 'RS256' } }),
        () => [rsa.jwk, { ...newKey('RS256').jwk, kid: 'key-2' }],
      ],
      [
        'a symmetric key',
        () => serialize(tokenOf('RS256', rsa)),
        () => [{ kty: 'oct', k: encode('secret'), kid: 'key-1', alg: 'HS256' }],
      ],
      ['a point that is not on the curve', () => serialize(tokenOf('ES256', ec)), () => [{ ...ec.jwk, y: ec.jwk.x }]],
    ];

    it.each(cases)('refuses %s', async (_title, token, keys) => {
      expect(await finish(token(), keys())).toMatch(/^(sso_provider_unverified|sso_error)$/);
    });

    it('are found by the kid, or by the algorithm when it is the only one', async () => {
      const second = newKey('RS256', { kid: 'key-2' });
      expect(await finish(serialize(tokenOf('RS256', second)), [rsa.jwk, second.jwk])).toBe('subject');
      const unnamed = { ...tokenOf('RS256', rsa), header: { alg: 'RS256' } };
      expect(await finish(serialize(unnamed), [rsa.jwk, ec.jwk])).toBe('subject');
    });
  });

  describe('headers', () => {
    const withHeader = (header: Json) => {
      const token = tokenOf('RS256', rsa);
      return serialize({ ...token, header: { ...token.header, ...header } });
    };

    it.each<Json>([
      { alg: 'none' },
      { alg: 'None' },
      { alg: 'nOnE' },
      { alg: 'rs256' },
      { alg: 'HS256' },
      { alg: 'RS1' },
      { alg: 'ES256' },
      { alg: 'PS256' },
      { alg: '' },
      { alg: undefined },
      { alg: ['RS256'] },
      { crit: ['exp'] },
      { crit: [] },
      { crit: ['b64'], b64: false },
      { kid: ['key-1'] },
    ])('refuses %j', async (header) => {
      expect(await finish(withHeader(header))).toBe('sso_provider_unverified');
    });

    it('ignores keys and addresses of keys in the header', async () => {
      const foreign = newKey('RS256');
      const header = {
        jwk: foreign.jwk,
        jku: 'https://evil.example/jwks',
        x5u: 'https://evil.example/cert',
        x5c: ['AA=='],
      };
      expect(await finish(withHeader(header))).toBe('subject');
      expect(calls).toEqual(['/token', '/jwks']);
      const token = tokenOf('RS256', { ...foreign, jwk: { ...foreign.jwk, kid: 'key-1' } });
      expect(await finish(serialize({ ...token, header: { ...token.header, ...header } }))).toBe(
        'sso_provider_unverified',
      );
    });
  });

  describe('serializations', () => {
    const change: [title: string, change: (token: string) => string][] = [
      ['two parts', (token) => token.split('.').slice(0, 2).join('.')],
      ['four parts', (token) => `${token}.AA`],
      ['five parts, as of an encrypted token', (token) => `${token}.AA.AA`],
      ['no header', (token) => token.replace(/^[^.]+/, '')],
      ['a payload that is a list', (token) => token.replace(/\.[^.]+\./, `.${encode('[]')}.`)],
      ['a payload that is no JSON', (token) => token.replace(/\.[^.]+\./, `.${encode('{')}.`)],
      ['the JSON serialization', (token) => JSON.stringify({ payload: token.split('.')[1] })],
      ['the payload of another token', (token) => token.replace(/\.[^.]+\./, `.${encode(claims({ sub: 'admin' }))}.`)],
    ];

    it.each(change)('refuses %s', async (_title, mutate) => {
      expect(await finish(mutate(serialize(tokenOf('RS256', rsa))))).toBe('sso_provider_unverified');
    });
  });

  describe('claims', () => {
    const withClaims = (more: Json) => serialize({ ...tokenOf('RS256', rsa), payload: claims(more) });

    it.each<Json>([
      { exp: 0 },
      { exp: -1 },
      { exp: 'tomorrow' },
      { exp: null },
      { nbf: 'now' },
      { iat: 'now' },
      { aud: [] },
      { aud: [CLIENT, 'another'] },
      { aud: { client: CLIENT } },
      { aud: `${CLIENT} ` },
      { iss: `${ISSUER}/` },
      { iss: [ISSUER] },
      { nonce: NONCE.toUpperCase() },
      { nonce: [NONCE] },
      { azp: 'another', aud: [CLIENT, 'another'] },
    ])('refuses %j', async (more) => {
      expect(await finish(withClaims(more))).toBe('sso_provider_unverified');
    });

    it.each<Json>([{ aud: [CLIENT] }, { aud: [CLIENT, 'another'], azp: CLIENT }, { unknown: { nested: true } }])(
      'accepts %j',
      async (more) => {
        expect(await finish(withClaims(more))).toBe('subject');
      },
    );

    it.each([
      { claim: 'exp', seconds: -5, outcome: 'subject' }, // within the clock tolerance
      { claim: 'exp', seconds: 300.5, outcome: 'subject' },
      { claim: 'nbf', seconds: 5, outcome: 'subject' },
      { claim: 'nbf', seconds: 600, outcome: 'sso_provider_unverified' },
    ])('responds with $outcome for $claim $seconds s from now', async ({ claim, seconds, outcome }) => {
      expect(await finish(withClaims({ [claim]: now() + seconds }))).toBe(outcome);
    });

    it('refuses a subject of more than 255 characters', async () => {
      expect(await finish(withClaims({ sub: 'x'.repeat(256) }))).toBe('sso_no_subject');
      expect(await finish(withClaims({ sub: 'x'.repeat(255) }))).toBe('x'.repeat(255));
    });
  });

  describe('the issuer in the authorization response (RFC 9207)', () => {
    const token = () => serialize(tokenOf('RS256', rsa));
    const announced = () => providerWith({ namesIssuer: true });

    it.each([
      ['is the provider itself', { iss: ISSUER }, true, 'subject'],
      ['is the provider itself, unannounced', { iss: ISSUER }, false, 'subject'],
      ['is absent and was not announced', {}, false, 'subject'],
      ['is absent although it was announced', {}, true, 'invalid_callback'],
      ['is another provider', { iss: 'https://evil.example' }, true, 'invalid_callback'],
      ['is another provider, unannounced', { iss: 'https://evil.example' }, false, 'invalid_callback'],
      ['has another case', { iss: ISSUER.toUpperCase() }, true, 'invalid_callback'],
      ['has a final slash', { iss: `${ISSUER}/` }, true, 'invalid_callback'],
      ['is empty', { iss: '' }, false, 'invalid_callback'],
    ] as const)('%s', async (_title, response, isAnnounced, expected) => {
      const provider = isAnnounced ? announced() : providerWith();
      expect(await finish(token(), undefined, { provider, response: { ...response } })).toBe(expected);
      if (expected === 'invalid_callback') expect(calls).toEqual([]); // the code was sent nowhere
    });

    it('is compared before the error of a response', async () => {
      const response = { iss: 'https://evil.example', error: 'access_denied' };
      expect(await finish(token(), undefined, { response })).toBe('invalid_callback');
      expect(await finish(token(), undefined, { response: { iss: ISSUER, error: 'access_denied' } })).toBe('sso_error');
    });
  });
});
