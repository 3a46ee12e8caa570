import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostileProvider, type Mutation } from '@rmm/testing';
import { eventually } from '@rmm/testing-services';
import { cookiesOf, expectStatus } from '../../test/identity-test-app.js';
import { codeOf, errorOf, SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';

const HMAC_KEY = new TextEncoder().encode(HostileProvider.clientSecret);
const without = (claim: string) => (claims: JWTPayload) => ({ ...claims, [claim]: undefined });
const seconds = (offset: number) => Math.floor(Date.now() / 1_000) + offset;
const edit = (part: 0 | 1 | 2, change: (text: string) => string) => (token: string) => {
  const parts = token.split('.');
  parts[part] = change(parts[part] ?? '');
  return parts.join('.');
};
const flipped = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);

/** Every mutation of a correct login, with the code of its refusal. */
const MUTATIONS: readonly [title: string, code: string, mutation: Mutation][] = [
  // Claims
  [
    'an ID token of another issuer',
    'sso_provider_unverified',
    { claims: (c) => ({ ...c, iss: 'https://other.test' }) },
  ],
  ['an issuer with a final slash', 'sso_provider_unverified', { claims: (c) => ({ ...c, iss: `${c.iss}/` }) }],
  ['an issuer in upper case', 'sso_provider_unverified', { claims: (c) => ({ ...c, iss: c.iss?.toUpperCase() }) }],
  ['an ID token without issuer', 'sso_provider_unverified', { claims: without('iss') }],
  ['an ID token for another client', 'sso_provider_unverified', { claims: (c) => ({ ...c, aud: 'other' }) }],
  ['an ID token without audience', 'sso_provider_unverified', { claims: without('aud') }],
  ['several audiences without azp', 'sso_provider_unverified', { claims: (c) => ({ ...c, aud: ['rmm', 'other'] }) }],
  [
    'several audiences with the azp of another client',
    'sso_provider_unverified',
    { claims: (c) => ({ ...c, aud: ['rmm', 'other'], azp: 'other' }) },
  ],
  ['an expired ID token', 'sso_provider_unverified', { claims: (c) => ({ ...c, exp: seconds(-120) }) }],
  ['an ID token without expiry', 'sso_provider_unverified', { claims: without('exp') }],
  [
    'an expiry that is text',
    'sso_provider_unverified',
    { claims: (c) => ({ ...c, exp: String(seconds(300)) }) as never },
  ],
  ['an ID token without issue time', 'sso_provider_unverified', { claims: without('iat') }],
  ['an ID token of the future', 'sso_provider_unverified', { claims: (c) => ({ ...c, nbf: seconds(600) }) }],
  ['another nonce', 'sso_provider_unverified', { claims: (c) => ({ ...c, nonce: 'another' }) }],
  ['no nonce', 'sso_provider_unverified', { claims: without('nonce') }],
  ['no subject', 'sso_provider_unverified', { claims: without('sub') }],
  ['a subject that is a number', 'sso_provider_unverified', { claims: (c) => ({ ...c, sub: 7 }) as never }],
  // A subject that differs from userinfo is refused before its length is.
  ['an address that is not verified', 'sso_email_unverified', { claims: (c) => ({ ...c, email_verified: false }) }],
  [
    'an address that is not verified, as text',
    'sso_email_unverified',
    { claims: (c) => ({ ...c, email_verified: 'False' }) },
  ],
  // Signature and header
  [
    'an unsigned ID token',
    'sso_provider_unverified',
    { signIdToken: (c) => Promise.resolve(new UnsecuredJWT(c).encode()) },
  ],
  [
    'an ID token signed with the client secret',
    'sso_provider_unverified',
    { signIdToken: (c) => new SignJWT(c).setProtectedHeader({ alg: 'HS256' }).sign(HMAC_KEY) },
  ],
  [
    'an ID token signed with the public key as secret',
    'sso_provider_unverified',
    {
      signIdToken: (c, { publicJwk }) =>
        new SignJWT(c)
          .setProtectedHeader({ alg: 'HS256', kid: publicJwk.kid })
          .sign(new TextEncoder().encode(JSON.stringify(publicJwk))),
    },
  ],
  [
    'the right kid with another key',
    'sso_provider_unverified',
    {
      signIdToken: async (c, { publicJwk }) => {
        const { privateKey } = await generateKeyPair('RS256');
        return new SignJWT(c).setProtectedHeader({ alg: 'RS256', kid: publicJwk.kid }).sign(privateKey);
      },
    },
  ],
  [
    'a key in the header',
    'sso_provider_unverified',
    {
      signIdToken: async (c) => {
        const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
        return new SignJWT(c).setProtectedHeader({ alg: 'RS256', jwk: await exportJWK(publicKey) }).sign(privateKey);
      },
    },
  ],
  ['an unknown kid', 'sso_provider_unverified', { header: () => ({ kid: 'key-2' }) }],
  ['an unknown critical header', 'sso_provider_unverified', { header: () => ({ crit: ['b64'], b64: true }) }],
  ['a changed signature', 'sso_provider_unverified', { idToken: edit(2, flipped) }],
  ['a changed payload', 'sso_provider_unverified', { idToken: edit(1, (text) => `${text}AA`) }],
  ['no signature', 'sso_provider_unverified', { idToken: edit(2, () => '') }],
  ['a token of two parts', 'sso_provider_unverified', { idToken: (token) => token.split('.').slice(0, 2).join('.') }],
  ['a token that is no JWT', 'sso_provider_unverified', { idToken: () => 'not a token' }],
  ['no ID token', 'sso_no_id_token', { idToken: () => undefined }],
  // Keys
  ['no keys', 'sso_provider_unverified', { jwks: (a) => ({ ...a, body: { keys: [] } }) }],
  ['keys that are no set', 'sso_provider_unverified', { jwks: (a) => ({ ...a, body: [] }) }],
  [
    'two keys with the same kid',
    'sso_provider_unverified',
    { jwks: (a) => ({ ...a, body: { keys: [...keysOf(a), ...keysOf(a)] } }) },
  ],
  ['keys that fail', 'sso_error', { jwks: (a) => ({ ...a, status: 500 }) }],
  // Userinfo
  ['userinfo of another subject', 'sso_subject_mismatch', { userInfo: (a) => ({ ...a, body: { sub: 'other' } }) }],
  [
    'userinfo without a subject',
    'sso_provider_unverified',
    { userInfo: (a) => ({ ...a, body: { email: 'a@b.test' } }) },
  ],
  [
    'userinfo that denies the address',
    'sso_email_unverified',
    { userInfo: (a) => ({ ...a, body: { sub: 'subject-1', email_verified: 'false' } }) },
  ],
  [
    'userinfo that is not JSON',
    'sso_error',
    { userInfo: (a) => ({ ...a, body: '<html>', headers: { 'content-type': 'text/html' } }) },
  ],
  [
    'userinfo that redirects',
    'sso_error',
    { userInfo: (a) => ({ ...a, status: 302, headers: { location: '/userinfo' } }) },
  ],
  // Token endpoint
  [
    'an error of the token endpoint',
    'sso_error',
    { token: (a) => ({ ...a, status: 400, body: { error: 'invalid_grant' } }) },
  ],
  ['a token response that is not JSON', 'sso_provider_unverified', { token: (a) => ({ ...a, body: '{"id_token":' }) }],
  [
    'a token endpoint that redirects',
    'sso_error',
    { token: (a) => ({ ...a, status: 307, headers: { location: '/token' } }) },
  ],
  ['a response of more than 1 MB', 'sso_error', { token: (a) => ({ ...a, body: { padding: 'x'.repeat(1_100_000) } }) }],
  ['a response that never ends', 'sso_error', { token: async (a) => (await sleep(7_000), a) }],
  // Authorization response
  ['an error of the provider', 'sso_error', { response: (p) => (p.delete('code'), p.set('error', 'access_denied')) }],
  ['no code', 'invalid_callback', { response: (p) => p.delete('code') }],
  ['the response of another provider', 'invalid_callback', { response: (p) => p.set('iss', 'https://other.test') }],
  ['a response that names no issuer', 'invalid_callback', { response: (p) => p.delete('iss') }],
  ['a response that names two issuers', 'invalid_callback', { response: (p) => p.append('iss', 'https://other.test') }],
];

function keysOf({ body }: { body: unknown }): unknown[] {
  return (body as { keys: unknown[] }).keys;
}

describe('SsoCallbackService with a provider that is hostile', () => {
  let sso: SsoTestApp;
  let provider: HostileProvider;
  let owner: SsoOwner;
  let id: string;

  beforeAll(async () => {
    [provider, sso] = await Promise.all([HostileProvider.start(), SsoTestApp.start()]);
    owner = await sso.owner();
    id = await sso.provider(owner, provider.issuer, { defaultRoleId: owner.roleId });
  }, 120_000);
  afterAll(async () => {
    await sso.stop();
    await provider.stop();
  });
  beforeEach(() => provider.reset());

  const signOn = async (mutation: Mutation = {}) => {
    // New settings, so that the keys of the provider are read again.
    expectStatus(await sso.identity.patch(`/sso/providers/${id}`, { name: 'Provider' }, owner), 200);
    provider.reset(mutation);
    const { location, cookies } = await sso.start(owner.orgId);
    return sso.callback(provider.authorize(location), cookies);
  };

  it('accepts a correct login, with the verifier of its challenge', async () => {
    const callback = await signOn();
    expectStatus(await sso.exchange(callback), 200);
    expect(provider.calls).toEqual(['/token', '/jwks', '/userinfo']);
    const verifier = provider.tokenRequest.get('code_verifier') ?? '';
    expect(createHash('sha256').update(verifier).digest('base64url')).toBe(provider.codeChallenge);
    expect(provider.tokenRequest.has('client_secret')).toBe(false); // in the header
  });

  it.each(MUTATIONS)(
    'refuses %s',
    async (_title, code, mutation) => {
      const rejected = async () =>
        (await sso.audited('sso.callback.rejected')).filter((entry) => entry.org_id === owner.orgId);
      const before = (await rejected()).length;
      const callback = await signOn(mutation);
      expect({ status: callback.status, code: errorOf(callback) }).toEqual({ status: 302, code });
      expect(cookiesOf(callback)).toEqual({ service_sso_state: '' });
      expect(callback.headers.location).not.toContain('ssoCode');
      if (code === 'sso_provider_unverified' && !mutation.userInfo) expect(provider.calls).not.toContain('/userinfo');
      await eventually(async () => {
        const entries = await rejected();
        expect(entries.length).toBe(before + 1);
        expect(entries.at(-1)).toMatchObject({ result: 'denied', details: { code, purpose: 'login' } });
        expect(JSON.stringify(entries.at(-1))).not.toMatch(/eyJ|an-authorization-code|an-access-token/);
      });
      const codes = await sso.testApp.query('SELECT 1 FROM sso_code');
      expect(codes).toEqual([]);
    },
    30_000,
  );

  it.each([
    ['RS384', 'RS256 only'],
    ['ES256', 'a key of another kind'],
  ])(
    'accepts the keys that the provider publishes later: %s',
    async (alg) => {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
      const jwk = { ...(await exportJWK(publicKey)), kid: 'key-2', alg, use: 'sig' };
      await sso.testApp.query(
        `UPDATE sso_provider SET metadata = jsonb_set(metadata, '{signingAlgorithms}', '["RS256","RS384","ES256"]')
       WHERE id = $1`,
        [id],
      );
      const callback = await signOn({
        jwks: (response) => ({ ...response, body: { keys: [...keysOf(response), jwk] } }),
        signIdToken: (claims) => new SignJWT(claims).setProtectedHeader({ alg, kid: 'key-2' }).sign(privateKey),
      });
      codeOf(callback);
      await sso.testApp.query('DELETE FROM sso_code');
    },
    30_000,
  );
});
