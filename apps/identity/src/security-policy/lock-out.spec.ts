import { randomUUID } from 'node:crypto';
import type { DomainError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { expectStatus, totpCode, type IdentityReplica } from '../../test/identity-test-app.js';
import { PolicyTestApp } from '../../test/policy-test-app.js';
import { enrollTotp, inviteAndAccept, roleId } from '../../test/users.js';

const NO_METHODS = { totp: false, sms: false };

describe('a change of a policy that would lock out enrolled users', () => {
  let testApp: PolicyTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    // A passkey satisfies any policy, so that only enrolled users can be locked out.
    testApp = await PolicyTestApp.start({ offeredMethods: ['totp', 'sms', 'passkey'] });
    identity = testApp.identity;
  }, 120_000);
  afterAll(() => testApp.stop());

  it('is refused with their number, of the partner and all its organizations, and stores nothing', async () => {
    const admin = await testApp.protectedPartner();
    const orgId = await testApp.withOrganization(admin.partnerId);
    const member = await testApp.orgMember(admin, orgId);
    await enrollTotp(identity, member.bearer);
    await inviteAndAccept(identity, admin.bearer, { roleId: await roleId(identity, admin.bearer, 'Partner Viewer') });
    const body = { name: 'Renamed', settings: { theme: 'dark', security: { allowedMfaMethods: NO_METHODS } } };
    const refused = await identity.patch('/orgs/partners/me', body, { bearer: admin.bearer });
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'mfa_policy_would_lock_out_users', count: 2, countCapped: false },
    });
    const shown = await identity.get('/orgs/partners/me', { bearer: admin.bearer });
    expect([shown.body.name, shown.body.settings]).toEqual(['Acme MSP', {}]);
    await eventually(async () =>
      expect(await testApp.auditOf(admin.partnerId, 'security_policy.update')).toMatchObject([
        { result: 'denied', details: { reason: 'mfa_policy_would_lock_out_users', count: 2 } },
      ]),
    );
    await testApp.query(`update user_account set status = 'disabled' where id = $1`, [member.userId]);
    expect((await testApp.patchOwn(admin.bearer, { allowedMfaMethods: NO_METHODS })).body.count).toBe(1);
  });

  it('is checked by the policies of each member: a method the organization forbids does not count', async () => {
    const admin = await testApp.provenPartner();
    const orgId = await testApp.withOrganization(admin.partnerId);
    const member = await testApp.orgMember(admin, orgId);
    await testApp.query(
      `update user_account set mfa_enabled = true, mfa_method = 'sms', phone_verified = true where id = $1`,
      [member.userId],
    );
    await testApp.apply(testApp.request(admin, orgId, { allowedMfaMethods: { totp: false } }));
    expect(await testApp.refusal(testApp.request(admin, orgId, { allowedMfaMethods: { sms: false } }))).toMatchObject({
      status: 409,
    });
    expectStatus(await testApp.patchOwn(admin.bearer, { allowedMfaMethods: { totp: false } }), 200);
    expect((await testApp.patchOwn(admin.bearer, { allowedMfaMethods: { sms: false } })).body).toMatchObject({
      count: 1,
    });
    await testApp.query(
      `insert into totp_factor (user_id, secret_sealed) values ($1, 'sealed') on conflict (user_id) do nothing`,
      [member.userId],
    );
    // With a TOTP app in addition to the phone, SMS may be forbidden where both policies allow TOTP.
    expectStatus(await testApp.patchOwn(admin.bearer, { allowedMfaMethods: { totp: true } }), 200);
    expect((await testApp.patchOwn(admin.bearer, { allowedMfaMethods: { sms: false } })).body).toMatchObject({
      count: 1,
    });
    await testApp.apply(testApp.request(admin, orgId, { allowedMfaMethods: { totp: true } }));
    expectStatus(await testApp.patchOwn(admin.bearer, { allowedMfaMethods: { sms: false } }), 200);
  });

  it('ignores users with a passkey, users without a factor, and changes that are no stricter than before', async () => {
    const admin = await testApp.protectedPartner();
    await testApp.query(
      `insert into passkey (user_id, credential_id, public_key, counter, name, device_type, backed_up)
       values ($1, '\\x01', '\\x00', 0, 'Key', 'singleDevice', false)`,
      [admin.userId],
    );
    expectStatus(await testApp.patchOwn(admin.bearer, { requireMfa: true, allowedMfaMethods: NO_METHODS }), 200);
    await testApp.query('delete from passkey where user_id = $1', [admin.userId]);
    const settings = { security: { mfaEnrollmentGraceDays: 3 }, theme: 'dark' };
    const edit = { name: 'Broken MSP', settings };
    expectStatus(await identity.patch('/orgs/partners/me', edit, { bearer: admin.bearer }), 200);
    expectStatus(await testApp.patchOwn(admin.bearer, { requireMfa: false }), 200);
    expect(await testApp.patchOwn(admin.bearer, { requireMfa: true })).toMatchObject({
      status: 409,
      body: { count: 1 },
    });
    expectStatus(await testApp.patchOwn(admin.bearer, { allowedMfaMethods: { totp: true } }), 200);
  });

  it('counts up to 1000 users', async () => {
    const admin = await testApp.protectedPartner();
    await testApp.query(
      `with users as (
         insert into user_account (email, name, status, mfa_enabled, mfa_method)
         select 'many-' || n || $3, 'Many', 'active', true, 'totp' from generate_series(1, 1000) n returning id
       )
       insert into partner_membership (partner_id, user_id, role_id) select $1, id, $2 from users`,
      [admin.partnerId, await roleId(identity, admin.bearer, 'Partner Viewer'), `-${randomUUID()}@users.test`],
    );
    const refused = await testApp.patchOwn(admin.bearer, { allowedMfaMethods: NO_METHODS });
    expect(refused.body).toMatchObject({ count: 1000, countCapped: true });
  });

  it('is refused to one of two concurrent changes, of partner and organization, that together lock out users', async () => {
    const admin = await testApp.provenPartner();
    const orgId = await testApp.withOrganization(admin.partnerId);
    const member = await testApp.orgMember(admin, orgId);
    await testApp.query(`update user_account set mfa_enabled = true, mfa_method = 'sms' where id = $1`, [
      member.userId,
    ]);
    await testApp.query(`insert into totp_factor (user_id, secret_sealed) values ($1, 'sealed')`, [member.userId]);
    const [byPartner, byOrganization] = await Promise.all([
      testApp.patchOwn(admin.bearer, { allowedMfaMethods: { totp: false } }).then(({ status }) => status),
      testApp.apply(testApp.request(admin, orgId, { allowedMfaMethods: { sms: false } })).then(
        () => 200,
        ({ status }: DomainError) => status,
      ),
    ]);
    expect([byPartner, byOrganization].sort()).toEqual([200, 409]);
  });

  it('and a concurrent enrollment are never both accepted', async () => {
    for (let round = 0; round < 4; round += 1) {
      const admin = await testApp.provenPartner();
      const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
      const { bearer } = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
      const setup = expectStatus(await identity.post('/auth/mfa/setup', undefined, { bearer }), 200).body;
      const code = totpCode(setup.secret as string);
      const [enabled, policy] = await Promise.all([
        identity.post('/auth/mfa/enable', { code }, { bearer }),
        testApp.patchOwn(admin.bearer, { allowedMfaMethods: NO_METHODS }),
      ]);
      expect([enabled.status, policy.status].sort()).not.toEqual([200, 200]);
      if (enabled.status !== 200) expect(enabled.body.code).toBe('mfa_method_not_allowed');
      if (policy.status !== 200) expect(policy.body.code).toBe('mfa_policy_would_lock_out_users');
    }
  });
});
