import { expectStatus } from '../../test/identity-test-app.js';
import { isLemonLdapInstalled, LemonLdapProvider } from '../../test/lemonldap.js';
import { errorOf, SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';
import { claimsOf } from '../../test/users.js';

const DOMAIN = 'badwolf.org';

if (!isLemonLdapInstalled()) {
  it.skip('single sign-on with LemonLDAP::NG: skipped, because its portal, or a package that the portal needs, of Debian is not installed', () =>
    undefined);
} else {
  describe('single sign-on with LemonLDAP::NG', () => {
    let lemonldap: LemonLdapProvider;
    let sso: SsoTestApp;
    let owner: SsoOwner;
    let providerId: string;

    beforeAll(async () => {
      lemonldap = await LemonLdapProvider.start();
      sso = await SsoTestApp.start();
      owner = await sso.owner();
      const { clientId, clientSecret } = LemonLdapProvider;
      const settings = { clientId, clientSecret, autoProvision: true, defaultRoleId: owner.roleId };
      providerId = await sso.provider(owner, lemonldap.issuer, settings);
    }, 120_000);
    afterAll(async () => {
      await sso.stop();
      await lemonldap.stop();
    });

    /** Signs a demo account in, with parameters of the authorization request and of the response changed. */
    const signOn = async (username: string, request: object = {}, response: object = {}) => {
      const { location, cookies } = await sso.start(owner.orgId);
      const back = await lemonldap.signIn(withParameters(location, request), username, username);
      return sso.callback(withParameters(back, response), cookies);
    };
    const signedOn = async (username: string) => expectStatus(await sso.exchange(await signOn(username)), 200).body;

    it('needs a proven domain, because its tokens say nothing about the address', async () => {
      expect(errorOf(await signOn('msmith'))).toBe('sso_domain_unverified');
    });

    it('signs a user in, again and again with the same account', async () => {
      await sso.proveDomain(owner, DOMAIN);
      const { user } = await signedOn('dwho');
      expect(user).toMatchObject({ email: `dwho@${DOMAIN}`, name: 'Doctor Who' });
      expect((await signedOn('dwho')).user.id).toBe(user.id);
    });

    it.each<[string, string, object, object]>([
      ['the code belongs to another PKCE verifier', 'sso_error', { code_challenge: 'a'.repeat(43) }, {}],
      ['the ID token has another nonce', 'sso_provider_unverified', { nonce: 'a'.repeat(43) }, {}],
      ['the response names another issuer', 'invalid_callback', {}, { iss: 'https://other.test' }],
    ])('refuses a login when %s', async (_title, code, request, response) => {
      expect(errorOf(await signOn('dwho', request, response))).toBe(code);
    });

    it('takes a second factor at the provider as MFA only when the provider is trusted and names it in `amr`', async () => {
      const hasMfa = async (username: string) => claimsOf((await signedOn(username)).accessToken as string).mfa;
      expect([await hasMfa('rtyler'), await hasMfa('dwho')]).toEqual([false, false]);
      expectStatus(await sso.identity.patch(`/sso/providers/${providerId}`, { trustsIdpMfa: true }, owner), 200);
      expect([await hasMfa('rtyler'), await hasMfa('dwho')]).toEqual([true, false]);
    });

    it('signs a user out here and at the provider', async () => {
      const browser = new Map<string, string>();
      const { location, cookies } = await sso.start(owner.orgId);
      const callback = await sso.callback(await lemonldap.signIn(location, 'dwho', 'dwho', browser), cookies);
      const bearer = expectStatus(await sso.exchange(callback), 200).body.accessToken as string;
      const signInAgain = async () =>
        lemonldap.signIn((await sso.start(owner.orgId)).location, 'dwho', 'not the password', browser);
      await signInAgain(); // the session at the provider needs no password

      const body = { returnTo: LemonLdapProvider.postLogoutPath };
      const { redirectUrl } = expectStatus(await sso.identity.post('/sso/logout', body, { bearer }), 200).body;
      expectStatus(await sso.identity.get('/auth/me', { bearer }), 401);
      expect(await lemonldap.signOut(redirectUrl as string, browser)).toBe('https://app.test/bye');
      await expect(signInAgain()).rejects.toThrow('the portal sends the browser nowhere else');
    });
  });
}

function withParameters(location: string, parameters: object): string {
  const url = new URL(location);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value as string);
  return url.href;
}
