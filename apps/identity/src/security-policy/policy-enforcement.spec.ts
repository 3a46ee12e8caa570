import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshAddress,
  freshEmail,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { PolicyTestApp } from '../../test/policy-test-app.js';
import { enrollTotp, inviteAndAccept, roleId, sessionOf } from '../../test/users.js';

describe('security policies in force', () => {
  let testApp: PolicyTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await PolicyTestApp.start();
    identity = testApp.identity;
  }, 120_000);
  afterAll(() => testApp.stop());

  describe('on addresses', () => {
    it("is refused when the allowlist lacks the caller's address", async () => {
      const { bearer, partnerId } = await testApp.protectedPartner();
      const from = freshAddress();
      expect(await testApp.patchOwn(bearer, { ipAllowlist: ['198.51.100.0/24'] }, from)).toMatchObject({
        status: 409,
        body: { code: 'ip_allowlist_would_lock_out_caller' },
      });
      expect(await testApp.stored(partnerId)).toBeNull();
      const set = expectStatus(
        await testApp.patchOwn(bearer, { ipAllowlist: [`${from}/24`, '2001:DB8::/32'] }, from),
        200,
      );
      const network = from.replace(/\.\d+$/, '.0/24');
      expect(set.body.settings.security.ipAllowlist).toEqual([network, '2001:db8::/32']);
    });

    it('refuses other addresses with the next request and at login, until it is empty again', async () => {
      const { bearer, email, partnerId, secret } = await testApp.protectedPartner();
      const [inside, outside] = ['198.51.100.7', '192.0.2.7'];
      const users = (from: string) => identity.get('/users', { bearer, from });
      expect((await users(outside)).status).toBe(200);
      expectStatus(await testApp.patchOwn(bearer, { ipAllowlist: ['198.51.100.0/24'] }, inside), 200);
      expect(await users(outside)).toMatchObject({ status: 403, body: { code: 'ip_not_allowed' } });
      expect((await users(inside)).status).toBe(200);
      const login = (from: string) => identity.post('/auth/login', { email, password: PASSWORD }, { from });
      expect(await login(outside)).toMatchObject({ status: 403, body: { code: 'ip_not_allowed' } });
      expect((await login(inside)).body.mfaRequired).toBe(true);
      await eventually(async () =>
        expect((await testApp.auditOf(partnerId, 'ip_allowlist.denied')).map(({ result }) => result)).toEqual([
          'denied',
          'denied',
        ]),
      );
      expectStatus(await testApp.patchOwn(bearer, { ipAllowlist: [] }, inside), 200);
      const { tempToken } = (await login(outside)).body;
      const code = totpCode(secret, 1);
      expectStatus(await identity.post('/auth/mfa/verify', { code, tempToken }, { from: outside }), 200);
    });

    it('does not apply to a platform administrator, whose access is audited', async () => {
      const admin = await testApp.protectedPartner();
      const viewer = await roleId(identity, admin.bearer, 'Partner Admin');
      const member = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
      expectStatus(await testApp.patchOwn(admin.bearer, { ipAllowlist: ['198.51.100.0/24'] }, '198.51.100.7'), 200);
      const users = () => identity.get('/users', { bearer: member.bearer, from: '192.0.2.7' });
      expect((await users()).status).toBe(403);
      await testApp.query('update user_account set is_platform_admin = true where id = $1', [member.userId]);
      expectStatus(await testApp.patchOwn(admin.bearer, { passwordMinLength: 9 }, '198.51.100.7'), 200);
      expect((await users()).status).toBe(200);
      await eventually(async () =>
        expect(await testApp.auditOf(admin.partnerId, 'ip_allowlist.bypass_platform_admin')).toMatchObject([
          { result: 'success', ip_address: '192.0.2.7' },
        ]),
      );
    });
  });

  describe('on sessions and passwords', () => {
    const endOf = async (userId: string) => {
      const [row] = await testApp.query<{ hours: number }>(
        `select extract(epoch from absolute_expires_at - created_at)::float8 / 3600 as hours
         from session_family where user_id = $1 and revoked_at is null order by created_at desc limit 1`,
        [userId],
      );
      return Math.round(row?.hours ?? 0);
    };

    it('shortens new and refreshed sessions to the shorter of partner and organization', async () => {
      const admin = await testApp.protectedPartner();
      const orgId = await testApp.withOrganization(admin.partnerId);
      const member = await testApp.orgMember(admin, orgId);
      expect(await endOf(member.userId)).toBe(30 * 24);
      expectStatus(await testApp.patchOwn(admin.bearer, { sessionLifetimeHours: 48 }), 200);
      await testApp.apply(testApp.request(admin, orgId, { sessionLifetimeHours: 12 }));
      const { cookies } = member;
      const headers = { 'x-service-csrf': cookies.service_csrf_token ?? '' };
      const refreshed = expectStatus(await identity.post('/auth/refresh', undefined, { cookies, headers }), 200);
      expect(await endOf(member.userId)).toBe(12);
      const login = await identity.post('/auth/login', { email: member.email, password: PASSWORD });
      expect(await endOf(member.userId)).toBe(12);
      await testApp.apply(testApp.request(admin, orgId, { sessionLifetimeHours: 2000 }));
      await identity.post('/auth/login', { email: member.email, password: PASSWORD });
      expect(await endOf(member.userId)).toBe(48);
      expect(login.status).toBe(200);

      await testApp.query(`update session_family set signed_in_at = now() - interval '49 hours' where user_id = $1`, [
        member.userId,
      ]);
      const next = sessionOf(refreshed).cookies;
      const again = await identity.post('/auth/refresh', undefined, {
        cookies: next,
        headers: { 'x-service-csrf': next.service_csrf_token ?? '' },
      });
      expect(again).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
    });

    it('shows administrators of an organization who still needs a factor by the policy of the partner', async () => {
      const admin = await testApp.protectedPartner();
      const orgId = await testApp.withOrganization(admin.partnerId);
      const orgAdmin = await testApp.orgMember(admin, orgId);
      const enrolled = await enrollTotp(identity, orgAdmin.bearer);
      const late = await testApp.orgMember(admin, orgId);
      const statusOf = async (userId: string) => {
        const list = expectStatus(await identity.get('/users', { bearer: enrolled.bearer }), 200).body.data;
        return (list as { id: string; mfaStatus: string }[]).find(({ id }) => id === userId)?.mfaStatus;
      };
      expect(await statusOf(late.userId)).toBe('not_required');
      expectStatus(await testApp.patchOwn(admin.bearer, { requireMfa: true }), 200);
      expect(await statusOf(late.userId)).toBe('overdue');
      expect(await statusOf(orgAdmin.userId)).toBe('enrolled');
    });

    it('requires the greatest password length of all tenants of the user', async () => {
      const admin = await testApp.protectedPartner();
      const other = await testApp.protectedPartner();
      const orgId = await testApp.withOrganization(admin.partnerId);
      expectStatus(await testApp.patchOwn(admin.bearer, { passwordMinLength: 12 }), 200);
      await testApp.apply(testApp.request(admin, orgId, { passwordMinLength: 24 }));
      const member = await inviteAndAccept(identity, other.bearer, {
        roleId: await roleId(identity, other.bearer, 'Partner Viewer'),
      });
      let { bearer } = member;
      const change = (newPassword: string) =>
        identity.post('/auth/change-password', { currentPassword: PASSWORD, newPassword }, { bearer });
      const role = await roleId(identity, admin.bearer, 'Org Viewer', `&orgId=${orgId}`);
      const invite = { email: member.email, name: 'Robin Vale', roleId: role, orgId };
      expectStatus(await identity.post('/users/invite', invite, { bearer: admin.bearer }), 201);
      // Not before the user accepts: until then the other tenant has no say.
      const invited = await identity.mailedToken(member.email, 2);
      const joined = await identity.post('/auth/accept-invite', { token: invited }, { bearer });
      ({ bearer } = sessionOf(expectStatus(joined, 200)));
      expect(await change('plum-orchard-kite-19')).toMatchObject({
        status: 400,
        body: { code: 'weak_password', error: 'Password must have at least 24 characters' },
      });
      expectStatus(await change('plum-orchard-kite-19-and-more'), 200);

      const email = freshEmail();
      expectStatus(await identity.post('/users/invite', { ...invite, email }, { bearer: admin.bearer }), 201);
      const token = await identity.mailedToken(email);
      const short = await identity.post('/auth/accept-invite', { token, password: 'plum-orchard-kite-19' });
      expect(short).toMatchObject({ status: 400, body: { code: 'weak_password' } });
      expectStatus(
        await identity.post('/auth/accept-invite', { token, password: 'plum-orchard-kite-19-and-more' }),
        200,
      );
    });
  });
});
