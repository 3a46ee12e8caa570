import { GlewlwydProvider, isGlewlwydInstalled } from '../../test/glewlwyd.js';
import { expectStatus } from '../../test/identity-test-app.js';
import { errorOf, SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';

const PASSWORD = 'a password of the provider';

if (!isGlewlwydInstalled()) {
  it.skip('single sign-on with Glewlwyd: skipped, because the packages glewlwyd and sqlite3 of Debian are not installed', () =>
    undefined);
} else {
  describe('single sign-on with Glewlwyd', () => {
    let glewlwyd: GlewlwydProvider;
    let sso: SsoTestApp;
    let owner: SsoOwner;
    let domain: string;

    beforeAll(async () => {
      [glewlwyd, sso] = await Promise.all([GlewlwydProvider.start(), SsoTestApp.start()]);
      owner = await sso.owner();
      domain = 'glewlwyd.test';
      const { clientId, clientSecret } = GlewlwydProvider;
      const settings = { clientId, clientSecret, autoProvision: true, defaultRoleId: owner.roleId };
      await sso.provider(owner, glewlwyd.issuer, settings);
    }, 120_000);
    afterAll(async () => {
      await sso.stop();
      await glewlwyd.stop();
    });

    const signOn = async (username: string) => {
      const { location, cookies } = await sso.start(owner.orgId);
      return sso.callback(await glewlwyd.signIn(location, username, PASSWORD), cookies);
    };

    it('needs a proven domain, because its tokens say nothing about the address', async () => {
      await glewlwyd.addUser('una', `una@${domain}`, PASSWORD);
      expect(errorOf(await signOn('una'))).toBe('sso_domain_unverified');
    });

    it('signs a user in, again and again with the same account', async () => {
      await sso.proveDomain(owner, domain);
      await glewlwyd.addUser('uma', `uma@${domain}`, PASSWORD);
      const { user } = expectStatus(await sso.exchange(await signOn('uma')), 200).body;
      expect(user).toMatchObject({ email: `uma@${domain}`, name: 'Uma User' });
      const again = expectStatus(await sso.exchange(await signOn('uma')), 200).body;
      expect(again.user.id).toBe(user.id);
    });
  });
}
