import { HostileProvider, type HostileResponse } from '@rmm/testing';
import { eventually } from '@rmm/testing-services';
import { cookiesOf, expectStatus, freshEmail, totpCode, type TestResponse } from '../../test/identity-test-app.js';
import { SsoMembers, type LinkedMember, type SsoTenant } from '../../test/sso-members.js';
import { errorOf, SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';
import { enrollTotp } from '../../test/users.js';

const UNLINKED = 'Single sign-on was removed from your account';

describe('SsoProviderChangesService', () => {
  let sso: SsoTestApp;
  let former: HostileProvider;
  let next: HostileProvider;
  let owner: SsoOwner;
  let members: SsoMembers;

  beforeAll(async () => {
    [former, next, sso] = await Promise.all([HostileProvider.start(), HostileProvider.start(), SsoTestApp.start()]);
    owner = await sso.owner();
    members = new SsoMembers(sso, owner, former);
  }, 120_000);
  afterAll(async () => {
    await sso.stop();
    await Promise.all([former.stop(), next.stop()]);
  });
  beforeEach(() => [former, next].forEach((provider) => provider.reset()));

  const patch = async ({ id }: SsoTenant, settings: object) =>
    expectStatus(await sso.identity.patch(`/sso/providers/${id}`, settings, owner), 200);
  const replaceIssuer = (tenant: SsoTenant) => patch(tenant, { issuer: next.issuer });
  const status = async (bearer: unknown) => (await sso.identity.get('/users/me', { bearer: bearer as string })).status;
  const identitiesOf = async ({ id }: SsoTenant) =>
    (await sso.testApp.query<{ subject: string }>('SELECT subject FROM sso_identity WHERE provider_id = $1', [id])).map(
      ({ subject }) => subject,
    );
  const activeSessionsOf = ({ id }: SsoTenant) =>
    sso.testApp.query('SELECT id FROM session_family WHERE sso_provider_id = $1 AND revoked_at IS NULL', [id]);
  /** Signs in at the next provider as the user of the former one. */
  const signOnAtNext = async ({ orgId }: SsoTenant, claims: object = {}): Promise<TestResponse> => {
    next.user = { ...former.user, ...claims };
    const { location, cookies } = await sso.start(orgId);
    return sso.callback(next.authorize(location), cookies);
  };

  describe('a changed issuer', () => {
    let tenant: SsoTenant;
    let user: LinkedMember;

    beforeEach(async () => {
      tenant = await members.tenant({ name: 'Contoso' });
      user = await members.linkedMember(tenant);
    });

    it('removes the identities, ends the sessions of the provider, informs the users and is audited', async () => {
      const opened = await members.session(tenant.orgId);
      await replaceIssuer(tenant);
      expect(await identitiesOf(tenant)).toEqual([]);
      await eventually(async () => expect(await status(opened.accessToken)).toBe(401));
      const refreshed = await sso.identity.post('/auth/refresh', { refreshToken: opened.refreshToken as string });
      expect(refreshed).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
      expect(await status(user.bearer)).toBe(200); // began with the password
      await eventually(async () => {
        const mails = (await sso.identity.mails(user.email)).filter(({ subject }) => subject === UNLINKED);
        expect(mails).toEqual([expect.objectContaining({ text: expect.stringContaining('"Contoso"') })]);
        const entries = await sso.audited('sso.provider.update');
        expect(entries.filter(({ org_id }) => org_id === tenant.orgId).at(-1)?.details).toMatchObject({
          ...{ issuer: next.issuer, formerIssuer: former.issuer, removedIdentities: 1, endedUsers: 1 },
        });
      });
    });

    it('lets no other user into the account of a subject of the former issuer', async () => {
      await replaceIssuer(tenant);
      expect(errorOf(await signOnAtNext(tenant, { email: freshEmail() }))).toBe('user_not_found');
      expect(errorOf(await signOnAtNext(tenant))).toBe('sso_link_required');
      await patch(tenant, { issuer: former.issuer });
      expect(errorOf(await members.signOn(tenant.orgId))).toBe('sso_link_required');
    });

    it('lets a member link the new identity', async () => {
      await replaceIssuer(tenant);
      next.user = { ...former.user, sub: 'at-the-next' };
      const started = expectStatus(await members.link(user, tenant.id), 200);
      const location = next.authorize(started.body.redirectUrl as string);
      const done = await sso.callback(location, cookiesOf(started));
      expect(done.headers.location).toBe('https://app.test/#ssoLinked=true');
      expect(await identitiesOf(tenant)).toEqual(['at-the-next']);
    });

    it('leaves the identities of other providers, and those of its own with other settings', async () => {
      const other = await members.tenant();
      const linked = await members.linkedMember(other);
      await replaceIssuer(tenant);
      await patch(other, { name: 'Another name', issuer: former.issuer });
      expect(await identitiesOf(other)).toEqual([linked.sub]);
      expectStatus(await sso.exchange(await members.signOn(other.orgId)), 200);
    });
  });

  describe('a login in flight while the issuer changes', () => {
    let tenant: SsoTenant;

    beforeEach(async () => {
      tenant = await members.tenant();
    });

    /** Has the issuer replaced before the former provider answers a call of the callback. */
    const replaceDuring = (call: 'token' | 'userInfo') =>
      former.reset({
        [call]: async (response: HostileResponse) => {
          await replaceIssuer(tenant);
          return response;
        },
      });
    const codes = () => sso.testApp.query('SELECT user_id FROM sso_code WHERE provider_id = $1', [tenant.id]);

    it.each(['token', 'userInfo'] as const)(
      'ends without a code when it changes during the %s request',
      async (call) => {
        await members.linkedMember(tenant);
        replaceDuring(call);
        expect(errorOf(await members.signOn(tenant.orgId))).toBe('sso_config_changed');
        expect(await identitiesOf(tenant)).toEqual([]);
        expect(await codes()).toEqual([]);
      },
      60_000,
    );

    it('creates no user', async () => {
      await patch(tenant, { autoProvision: true, defaultRoleId: tenant.own.roleId });
      const email = freshEmail();
      members.use({ email });
      replaceDuring('userInfo');
      expect(errorOf(await members.signOn(tenant.orgId))).toBe('sso_config_changed');
      expect(await sso.testApp.query('SELECT id FROM user_account WHERE email = $1', [email])).toEqual([]);
    });

    it('links no identity', async () => {
      const user = await members.member(tenant.own);
      members.use(user);
      const started = expectStatus(await members.link(user, tenant.id), 200);
      replaceDuring('token');
      expect(errorOf(await members.follow(started))).toBe('sso_config_changed');
      expect(await identitiesOf(tenant)).toEqual([]);
    });

    it('exchanges no code and accepts no second factor of a login that was completed before', async () => {
      const user = await members.linkedMember(tenant);
      const callback = await members.signOn(tenant.orgId);
      const { secret } = await enrollTotp(sso.identity, user.bearer);
      const { tempToken } = await members.session(tenant.orgId);
      await replaceIssuer(tenant);
      expect(await sso.exchange(callback)).toMatchObject({ status: 400, body: { code: 'sso_code_invalid' } });
      const verified = await sso.identity.post('/auth/mfa/verify', { tempToken, code: totpCode(secret, 1) });
      expect(verified.status).toBe(401);
      expect(await activeSessionsOf(tenant)).toEqual([]);
    });

    it('leaves no session and no identity behind when twenty callbacks and exchanges run at the same time', async () => {
      await members.linkedMember(tenant);
      const completed = [];
      for (let n = 0; n < 10; n += 1) completed.push(await members.signOn(tenant.orgId));
      const [exchanged, later] = await Promise.all([
        Promise.all(completed.map((callback) => sso.exchange(callback))),
        Promise.all(Array.from({ length: 10 }, () => members.signOn(tenant.orgId))),
        replaceIssuer(tenant),
      ]);
      expect(exchanged.filter((response) => ![200, 400, 401].includes(response.status))).toEqual([]);
      for (const callback of later.filter((one) => errorOf(one) === null)) {
        expect((await sso.exchange(callback)).status).toBe(400);
      }
      expect(await identitiesOf(tenant)).toEqual([]);
      expect(await activeSessionsOf(tenant)).toEqual([]);
    });
  });
});
