import { HostileProvider } from '@rmm/testing';
import { eventually } from '@rmm/testing-services';
import { expectStatus, freshEmail, PASSWORD, totpCode } from '../../test/identity-test-app.js';
import { SsoMembers } from '../../test/sso-members.js';
import { errorOf, SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';
import { enrollTotp } from '../../test/users.js';

const LINKED = 'Single sign-on was connected to your account';
const UNLINKED = 'Single sign-on was removed from your account';

describe('SsoLinksService', () => {
  let sso: SsoTestApp;
  let provider: HostileProvider;
  let owner: SsoOwner;
  let members: SsoMembers;

  beforeAll(async () => {
    [provider, sso] = await Promise.all([HostileProvider.start(), SsoTestApp.start()]);
    owner = await sso.owner();
    members = new SsoMembers(sso, owner, provider);
  }, 120_000);
  afterAll(async () => {
    await sso.stop();
    await provider.stop();
  });
  beforeEach(() => provider.reset());

  /** Waits for the mails of both kinds to a user. */
  const notices = (email: string, expected: Record<string, number>) =>
    eventually(async () => {
      const subjects = (await sso.identity.mails(email)).map(({ subject }) => subject);
      const count = (subject: string) => subjects.filter((one) => one === subject).length;
      expect({ linked: count(LINKED), unlinked: count(UNLINKED) }).toEqual({ linked: 0, unlinked: 0, ...expected });
    });
  const status = async (bearer: string) => (await sso.identity.get('/users/me', { bearer })).status;
  const ended = (bearer: string) => eventually(async () => expect(await status(bearer)).toBe(401));
  const identitiesOf = async (user: { bearer: string }) =>
    expectStatus(await sso.identity.get('/sso/identities', user), 200).body.data as { id: string }[];

  it('informs the user by mail when an identity is linked, once, and when it is removed', async () => {
    const tenant = await members.tenant({ name: 'Contoso <b>login</b>' });
    const user = await members.linkedMember(tenant);
    await notices(user.email, { linked: 1 });
    const [mail] = (await sso.identity.mails(user.email)).filter(({ subject }) => subject === LINKED);
    expect(mail?.text).toContain('"Contoso <b>login</b>"');
    expect(mail?.text).not.toContain(user.sub);
    await members.follow(expectStatus(await members.link(user, tenant.id), 200)); // is linked already
    const opened = (await members.session(tenant.orgId)).accessToken as string;
    const [identity] = await identitiesOf(user);
    const removed = await sso.identity.call(
      'delete',
      `/sso/identities/${identity?.id}`,
      { currentPassword: PASSWORD },
      user,
    );
    expectStatus(removed, 200);
    await ended(opened);
    expect(await status(user.bearer)).toBe(200);
    await notices(user.email, { linked: 1, unlinked: 1 });
  });

  it('informs a member who is linked by address, and not a user who is created', async () => {
    const domain = `d${Date.now()}.test`;
    const tenant = await members.tenant({ defaultRoleId: undefined });
    await sso.proveDomain(tenant.own, domain);
    const member = await members.member(tenant.own);
    const email = `member@${domain}`;
    await sso.testApp.query('UPDATE user_account SET email = $2 WHERE id = $1', [member.userId, email]);
    members.use({ email });
    await members.session(tenant.orgId);
    await members.session(tenant.orgId); // linked by now
    await notices(email, { linked: 1 });

    const settings = { defaultRoleId: tenant.own.roleId, autoProvision: true };
    expectStatus(await sso.identity.patch(`/sso/providers/${tenant.id}`, settings, owner), 200);
    const created = freshEmail('created');
    members.use({ email: created });
    expect((await members.session(tenant.orgId)).user.email).toBe(created);
    await members.session(tenant.orgId);
    await notices(created, {});
  });

  describe('sessions of a provider that ends', () => {
    it.each(['inactive', 'testing', 'deleted'])(
      'end with it when it is %s; those of other ways stay',
      async (end) => {
        const tenant = await members.tenant();
        const other = await members.tenant();
        const user = await members.linkedMember(tenant);
        const opened = await members.session(tenant.orgId);
        const elsewhere = await members.linkedMember(other);
        const kept = (await members.session(other.orgId)).accessToken as string;
        expect(await status(opened.accessToken as string)).toBe(200);

        if (end === 'deleted') expectStatus(await sso.identity.delete(`/sso/providers/${tenant.id}`, owner), 200);
        else await sso.setStatus(owner, tenant.id, end);
        await ended(opened.accessToken as string);
        const refreshed = await sso.identity.post('/auth/refresh', { refreshToken: opened.refreshToken });
        expect(refreshed).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
        expect([await status(user.bearer), await status(elsewhere.bearer), await status(kept)]).toEqual([
          200, 200, 200,
        ]);
        const rows = await sso.testApp.query(
          `SELECT DISTINCT revoked_reason AS reason FROM session_family WHERE sso_provider_id = $1`,
          [tenant.id],
        );
        expect(rows).toEqual([{ reason: 'sso_provider_ended' }]);
        const action = end === 'deleted' ? 'sso.provider.delete' : 'sso.provider.status.update';
        await eventually(async () => {
          const entries = (await sso.audited(action)).filter(({ org_id }) => org_id === tenant.orgId);
          expect(entries.at(-1)).toMatchObject({ details: { endedUsers: 1 } });
        });
      },
      60_000,
    );

    it('end at their refresh when they were stored by a statement that the end did not see', async () => {
      const tenant = await members.tenant();
      await members.linkedMember(tenant);
      const { refreshToken } = await members.session(tenant.orgId);
      await sso.testApp.query(`UPDATE sso_provider SET status = 'inactive' WHERE id = $1`, [tenant.id]);
      const refreshed = await sso.identity.post('/auth/refresh', { refreshToken });
      expect(refreshed).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
    });

    it('do not begin with the second factor of a login that began before', async () => {
      const tenant = await members.tenant();
      const user = await members.linkedMember(tenant);
      const { secret } = await enrollTotp(sso.identity, user.bearer);
      const { tempToken } = await members.session(tenant.orgId);
      await sso.setStatus(owner, tenant.id, 'inactive');
      const verified = await sso.identity.post('/auth/mfa/verify', { tempToken, code: totpCode(secret, 1) });
      expect(verified.status).toBe(401);
      const rows = await sso.testApp.query('SELECT id FROM session_family WHERE sso_provider_id = $1', [tenant.id]);
      expect(rows).toEqual([]);
    });

    it('leave none behind when twenty exchanges and the end of the provider run at the same time', async () => {
      const tenant = await members.tenant();
      await members.linkedMember(tenant);
      const callbacks = [];
      for (let n = 0; n < 20; n += 1) callbacks.push(await members.signOn(tenant.orgId));
      for (const callback of callbacks) expect(errorOf(callback)).toBeNull();
      const [responses] = await Promise.all([
        Promise.all(callbacks.map((callback) => sso.exchange(callback))),
        sso.setStatus(owner, tenant.id, 'inactive'),
      ]);
      expect(responses.filter((response) => ![200, 400, 401].includes(response.status))).toEqual([]);
      const active = await sso.testApp.query(
        'SELECT id FROM session_family WHERE sso_provider_id = $1 AND revoked_at IS NULL',
        [tenant.id],
      );
      expect(active).toEqual([]);
    });
  });
});
