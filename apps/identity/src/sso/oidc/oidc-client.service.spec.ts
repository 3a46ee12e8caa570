import { SignJWT, type JWTPayload } from 'jose';
import { createHash, randomUUID } from 'node:crypto';
import { Outbound } from '@rmm/outbound';
import { HostileProvider, type Mutation } from '@rmm/testing';
import { InvalidProviderConfiguration, LogoutTokenInvalid, OidcDiscoveryFailed } from '../sso.errors.js';
import { OidcClient, type AuthorizationRequest, type OidcProvider } from './oidc-client.service.js';
import { OidcTransport } from './oidc-transport.service.js';

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const REQUEST: AuthorizationRequest = {
  redirectUri: 'https://api.test/api/v1/sso/callback',
  scopes: 'openid email',
  state: 'a-state',
  nonce: 'a-nonce',
  verifier: 'v'.repeat(43),
  isReauth: false,
};

describe('OidcClient', () => {
  let idp: HostileProvider;
  let transport: OidcTransport;
  let client: OidcClient;
  let provider: OidcProvider;

  beforeAll(async () => {
    idp = await HostileProvider.start();
    transport = new OidcTransport(new Outbound({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] }));
  });
  afterAll(async () => {
    await transport.onApplicationShutdown();
    await idp.stop();
  });
  beforeEach(async () => {
    idp.reset();
    client = new OidcClient(transport);
    const { clientId, clientSecret } = HostileProvider;
    const metadata = await client.discover(idp.issuer);
    provider = {
      ...{ id: randomUUID(), configVersion: 1, issuer: idp.issuer, clientId, clientSecret },
      preset: null,
      metadata,
    };
    idp.reset();
  });

  const finish = async (mutation: Mutation = {}, changes: Partial<AuthorizationRequest> = {}) => {
    idp.reset(mutation);
    const request = { ...REQUEST, ...changes };
    const back = idp.authorize((await client.authorizationUrl(provider, request)).href);
    return client.finish(provider, new URL(back).searchParams, request);
  };

  describe('discover', () => {
    it('reads the endpoints, and the signature algorithms with a public key', () => {
      expect(provider.metadata).toEqual({
        authorizationEndpoint: `${idp.issuer}/authorize`,
        tokenEndpoint: `${idp.issuer}/token`,
        jwksUri: `${idp.issuer}/jwks`,
        userInfoEndpoint: `${idp.issuer}/userinfo`,
        endSessionEndpoint: `${idp.issuer}/logout`,
        signingAlgorithms: ['RS256', 'ES256'],
        tokenAuthMethods: null,
        namesIssuer: true,
      });
    });

    it.each<[string, object, RegExp]>([
      ['another issuer', { issuer: 'https://other.test' }, /issuer|metadata/],
      ['no key endpoint', { jwks_uri: undefined }, /names no/],
      ['HMAC signatures only', { id_token_signing_alg_values_supported: ['HS256'] }, /RS, ES or PS/],
      ['an endpoint that is too long', { jwks_uri: `http://127.0.0.1/${'a'.repeat(2_048)}` }, /2,048/],
      ['an endpoint in a private network', { token_endpoint: 'http://169.254.169.254/' }, /may not be called/],
    ])('names %s to the administrator', async (_title, changes, sentence) => {
      idp.reset({ discovery: (reply) => ({ ...reply, body: { ...(reply.body as object), ...changes } }) });
      const error = await client.discover(idp.issuer).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OidcDiscoveryFailed);
      expect((error as OidcDiscoveryFailed).sentence).toMatch(sentence);
    });

    it('names no address when the provider cannot be reached', async () => {
      const error = await client.discover('http://127.0.0.1:1/realm').catch((thrown: unknown) => thrown);
      expect((error as OidcDiscoveryFailed).sentence).toMatch(/did not respond/);
      expect((error as OidcDiscoveryFailed).sentence).not.toContain('127.0.0.1');
    });
  });

  describe('authorizationUrl', () => {
    it('sends state, nonce and the challenge of the verifier, which it keeps', async () => {
      const url = await client.authorizationUrl(provider, REQUEST);
      expect(url.href).toMatch(new RegExp(`^${idp.issuer}/authorize\\?`));
      expect(Object.fromEntries(url.searchParams)).toEqual({
        ...{ client_id: 'rmm', response_type: 'code', redirect_uri: REQUEST.redirectUri, scope: 'openid email' },
        ...{ state: 'a-state', nonce: 'a-nonce', code_challenge_method: 'S256' },
        code_challenge: createHash('sha256').update(REQUEST.verifier).digest('base64url'),
      });
    });

    it('asks for a new sign-in to reauthenticate', async () => {
      const { searchParams } = await client.authorizationUrl(provider, { ...REQUEST, isReauth: true });
      expect([searchParams.get('prompt'), searchParams.get('max_age')]).toEqual(['login', '300']);
    });

    it('sends no browser to an address that may not be called', async () => {
      provider.metadata.authorizationEndpoint = 'http://169.254.169.254/authorize';
      await expect(client.authorizationUrl(provider, REQUEST)).rejects.toThrow(InvalidProviderConfiguration);
    });
  });

  describe('finish', () => {
    it('returns the claims of ID token and userinfo', async () => {
      const claims = await finish({ claims: (of) => ({ ...of, sid: 'session-1', amr: ['pwd', 'mfa', 7] }) });
      expect(claims).toMatchObject({ subject: 'subject-1', emailVerified: [true, true], sid: 'session-1' });
      expect(claims.amr).toEqual(['pwd', 'mfa']);
      expect(claims.claims.email).toBe('user@example.com');
      expect(idp.calls).toEqual(['/token', '/jwks', '/userinfo']);
    });

    it('reads the keys of a provider once for each version of its settings', async () => {
      await finish();
      await finish();
      expect(idp.calls).toEqual(['/token', '/userinfo']);
      provider = { ...provider, configVersion: 2 };
      await finish();
      expect(idp.calls).toContain('/jwks');
    });

    it('works without userinfo, and ignores a session id that is too long', async () => {
      provider.metadata.userInfoEndpoint = null;
      const claims = await finish({ claims: (of) => ({ ...of, sid: 's'.repeat(256) }) });
      expect(claims.sid).toBeNull();
      expect(idp.calls).not.toContain('/userinfo');
    });

    it.each<[string | null, string[] | null, boolean]>([
      [null, null, false],
      [null, ['client_secret_post'], true],
      [null, ['client_secret_post', 'client_secret_basic'], false],
      ['auth0', ['client_secret_basic'], true],
    ])('with preset %s and methods %j sends the secret in the body: %s', async (preset, methods, isInBody) => {
      provider = { ...provider, preset, metadata: { ...provider.metadata, tokenAuthMethods: methods } };
      await finish();
      expect(idp.tokenRequest.has('client_secret')).toBe(isInBody);
    });

    it('accepts a reauthentication of the last five minutes only', async () => {
      const signedInAgo = (seconds: number): Mutation => ({
        claims: (of) => ({ ...of, auth_time: Math.floor(Date.now() / 1_000) - seconds }),
      });
      await finish(signedInAgo(200), { isReauth: true });
      await expect(finish(signedInAgo(600), { isReauth: true })).rejects.toMatchObject({
        code: 'sso_provider_unverified',
      });
      await finish(signedInAgo(600));
    });

    it.each<[string, Mutation, string]>([
      ['the response of another provider', { response: (p) => p.set('iss', 'https://other.test') }, 'invalid_callback'],
      ['a response without code', { response: (p) => p.delete('code') }, 'invalid_callback'],
      ['an error of the provider', { response: (p) => (p.delete('code'), p.set('error', 'denied')) }, 'sso_error'],
      ['another nonce', { claims: (of) => ({ ...of, nonce: 'other' }) }, 'sso_provider_unverified'],
      ['no ID token', { idToken: () => undefined }, 'sso_no_id_token'],
      ['an empty subject', { claims: (of) => ({ ...of, sub: '' }) }, 'sso_no_subject'],
      ['a subject of 256 characters', { claims: (of) => ({ ...of, sub: 's'.repeat(256) }) }, 'sso_no_subject'],
      ['userinfo of another user', { userInfo: (r) => ({ ...r, body: { sub: 'other' } }) }, 'sso_subject_mismatch'],
      ['a failing token endpoint', { token: (r) => ({ ...r, status: 503 }) }, 'sso_error'],
    ])('refuses %s', async (_title, mutation, code) => {
      const error = await finish(mutation).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code });
    });

    it('accepts a response that names no issuer from a provider that does not promise one', async () => {
      provider.metadata.namesIssuer = false;
      await finish({ response: (parameters) => parameters.delete('iss') });
    });
  });

  it('ends the session at the provider, when it can', () => {
    const url = client.endSessionUrl(provider, 'https://app.test/bye');
    expect(url?.href).toBe(
      `${idp.issuer}/logout?${new URLSearchParams({ post_logout_redirect_uri: 'https://app.test/bye', client_id: 'rmm' }).toString()}`,
    );
    provider.metadata.endSessionEndpoint = null;
    expect(client.endSessionUrl(provider, 'https://app.test/bye')).toBeNull();
  });

  describe('verifyLogoutToken', () => {
    const nowSeconds = () => Math.floor(Date.now() / 1_000);
    const claims = (changes: JWTPayload = {}): JWTPayload => ({
      ...{
        iss: idp.issuer,
        aud: 'rmm',
        iat: nowSeconds(),
        jti: 'jti',
        sub: 'subject-1',
        events: { [LOGOUT_EVENT]: {} },
      },
      ...changes,
    });
    const verify = async (changes: JWTPayload = {}) =>
      client.verifyLogoutToken(provider, await idp.sign(claims(changes)));

    it('returns the subject or session that it names', async () => {
      expect(await verify()).toEqual({ subject: 'subject-1', jti: 'jti' });
      expect(await verify({ sub: undefined, sid: 'session-1' })).toEqual({ sid: 'session-1', jti: 'jti' });
    });

    it.each<[string, () => JWTPayload]>([
      ['of another issuer', () => ({ iss: 'https://other.test' })],
      ['for another client', () => ({ aud: 'other' })],
      ['of a quarter of an hour ago', () => ({ iat: nowSeconds() - 900 })],
      ['of the future', () => ({ iat: nowSeconds() + 900 })],
      ['with a nonce', () => ({ nonce: 'a-nonce' })],
      ['of another event', () => ({ events: { other: {} } })],
      ['without id', () => ({ jti: undefined })],
      ['without subject and session', () => ({ sub: undefined })],
    ])('refuses a token %s', async (_title, changes) => {
      await expect(verify(changes())).rejects.toThrow(LogoutTokenInvalid);
    });

    it('refuses a token that is signed with the client secret, and one without keys to verify it', async () => {
      const secret = new TextEncoder().encode(HostileProvider.clientSecret);
      const forged = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256' }).sign(secret);
      await expect(client.verifyLogoutToken(provider, forged)).rejects.toThrow(LogoutTokenInvalid);
      idp.reset({ jwks: (reply) => ({ ...reply, status: 500 }) });
      await expect(verify()).rejects.toThrow(LogoutTokenInvalid);
    });
  });
});
