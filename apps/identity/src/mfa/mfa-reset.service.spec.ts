import { connect } from 'nats';
import { randomUUID } from 'node:crypto';
import { natsOptions } from '@rmm/messaging';
import { eventually } from '@rmm/testing-services';
import {
  ADMIN,
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf, type TestUser } from '../../test/users.js';

type Enrolled = TestUser & { secret: string; recoveryCodes: string[] };

describe('MfaResetService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let admin: Enrolled;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    admin = await withFactor(await registerPartner(identity));
  }, 120_000);
  afterAll(() => testApp.stop());

  const withFactor = async <P extends TestUser>(user: P): Promise<P & Enrolled> => ({
    ...user,
    ...(await enrollTotp(identity, user.bearer)),
  });
  const login = (email: string, at = identity) => at.post('/auth/login', { email, password: PASSWORD });
  const reset = (userId: string, by: { bearer?: string } = admin, body: object = {}, query = '') =>
    identity.post(`/users/${userId}/mfa/reset${query}`, body, { bearer: by.bearer });
  const member = async (role = 'Partner Viewer', by = admin) =>
    withFactor(await inviteAndAccept(identity, by.bearer, { roleId: await roleId(identity, by.bearer, role) }));
  const withOrganization = async (partnerId: string) => {
    const [row] = await testApp.query<{ id: string }>(
      `insert into organization_directory (org_id, partner_id, name, slug, status, version)
       values (gen_random_uuid(), $1, 'Customer', 'customer-' || gen_random_uuid(), 'active', 1) returning org_id as id`,
      [partnerId],
    );
    return row.id;
  };
  const orgMember = async (orgId: string, role = 'Org Viewer') => {
    const id = await roleId(identity, admin.bearer, role, `&orgId=${orgId}`);
    return withFactor(await inviteAndAccept(identity, admin.bearer, { roleId: id, orgId }));
  };
  const hasFactor = async (userId: string) => {
    const [row] = await testApp.query<{ on: boolean }>('select mfa_enabled as on from user_account where id = $1', [
      userId,
    ]);
    return row.on;
  };
  /** A custom role of the admin's partner with just these permissions. */
  const customRole = async (partnerId: string, permissions: string[]) => {
    const [role] = await testApp.query<{ id: string }>(
      `insert into role (partner_id, scope, name) values ($1, 'partner', 'Custom ' || gen_random_uuid()) returning id`,
      [partnerId],
    );
    await testApp.query(
      `insert into role_permission (role_id, permission_id)
       select $1, id from permission where resource || ':' || action = any($2)`,
      [role.id, permissions],
    );
    return role.id;
  };

  it('deletes all factors, ends every session and notifies the user', async () => {
    const target = await member();
    const phone = '+4915112345678';
    await testApp.query('update user_account set phone_number = $2, phone_verified = true where id = $1', [
      target.userId,
      phone,
    ]);
    const { tempToken } = (await login(target.email)).body as { tempToken: string };
    const stepUp = { method: 'totp', operation: 'change_email', code: totpCode(target.secret, 1) };
    expectStatus(await identity.post('/auth/mfa/step-up', stepUp, target), 200);

    const response = expectStatus(await reset(target.userId), 200);
    expect(response.body).toEqual({ success: true, message: expect.any(String) });

    expect((await identity.get('/auth/me', target)).status).toBe(401);
    const { service_refresh_token: refreshToken } = target.cookies;
    expect((await identity.post('/auth/refresh', { refreshToken })).body.code).toBe('refresh_invalid');
    const late = await identity.post('/auth/mfa/verify', { tempToken, code: target.recoveryCodes[0] });
    expect(late).toMatchObject({ status: 401, body: { code: 'mfa_session_invalid' } });
    const rows = await testApp.query(
      `select mfa_enabled, mfa_method, phone_number, phone_verified, first_factor_at is not null as ever,
         (select count(*)::int from totp_factor f where f.user_id = u.id) as totp,
         (select count(*)::int from recovery_code c where c.user_id = u.id) as codes
       from user_account u where id = $1`,
      [target.userId],
    );
    expect(rows).toEqual([
      {
        mfa_enabled: false,
        mfa_method: null,
        phone_number: null,
        phone_verified: false,
        ever: true,
        totp: 0,
        codes: 0,
      },
    ]);
    await eventually(async () => {
      const audited = await testApp.query(
        `select result, actor_id as actor, details, partner_id as partner from audit_entry
         where resource_id = $1 and action = 'user.mfa_reset'`,
        [target.userId],
      );
      expect(audited).toEqual([
        {
          result: 'success',
          actor: admin.userId,
          details: { method: 'totp', sessions: expect.any(Number) },
          partner: admin.partnerId,
        },
      ]);
      const [mail] = await identity.mails(target.email);
      expect(mail?.subject).toBe('Your second factor was reset');
    });
    expect(expectStatus(await login(target.email), 200).body).toMatchObject({
      mfaRequired: false,
      user: { mfaEnabled: false },
    });
  });

  it('publishes user.mfa_reset', async () => {
    const target = await member();
    expectStatus(await reset(target.userId), 200);
    const connection = await connect(natsOptions(testApp.nats.adminUrl, 'mfa-reset-spec'));
    try {
      const manager = await connection.jetstreamManager();
      const query = { last_by_subj: 'rmm.internal.identity.user.mfa_reset' };
      const event = await eventually(async () => {
        const found = (await manager.streams.getMessage('RMM_INTERNAL', query)).json<{ aggregateId: string }>();
        if (found.aggregateId !== target.userId) throw new Error('not yet');
        return found;
      });
      expect(event).toMatchObject({
        type: 'user.mfa_reset',
        partnerId: admin.partnerId,
        orgId: null,
        actor: { type: 'user', id: admin.userId },
        data: { userId: target.userId, mfaEpoch: expect.any(Number) },
      });
    } finally {
      await connection.close();
    }
  });

  it('requires the permission, a session that satisfied MFA, and full partner access', async () => {
    const target = await member();
    const viewer = await member();
    expect(await reset(target.userId, viewer)).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
    expect((await reset(target.userId, {})).status).toBe(401);
    const another = await registerPartner(identity);
    expect(await reset(target.userId, another)).toMatchObject({ status: 403, body: { code: 'mfa_required' } });
    const limited = await member('Partner Admin');
    await testApp.query(`update partner_membership set org_access = 'none' where user_id = $1`, [limited.userId]);
    const { tempToken } = (await login(limited.email)).body as { tempToken: string };
    const verified = await identity.post('/auth/mfa/verify', { tempToken, code: limited.recoveryCodes[0] });
    expect(await reset(target.userId, sessionOf(expectStatus(verified, 200)))).toMatchObject({
      status: 403,
      body: { code: 'full_partner_access_required' },
    });
    expect(await hasFactor(target.userId)).toBe(true);
  });

  it('refuses the caller itself, users without a factor and malformed requests', async () => {
    expect(await reset(admin.userId)).toMatchObject({ status: 400, body: { code: 'self_action_refused' } });
    const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
    const plain = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
    expect(await reset(plain.userId)).toMatchObject({ status: 400, body: { code: 'mfa_not_enabled' } });
    expect((await reset('not-a-uuid')).status).toBe(404);
    const unknown = await reset(plain.userId, admin, { force: true });
    expect(unknown).toMatchObject({ status: 400, body: { details: { fieldErrors: { force: ['unknown field'] } } } });
    expect((await reset(plain.userId, admin, { orgId: 'x' })).status).toBe(400);
  });

  it('returns 404 for users of another tenant', async () => {
    const other = await withFactor(await registerPartner(identity));
    for (const id of [other.userId, randomUUID()]) {
      expect(await reset(id)).toMatchObject({ status: 404, body: { code: 'not_found', error: 'User not found' } });
    }
    const named = await reset(other.userId, admin, { orgId: await withOrganization(other.partnerId) });
    expect(named).toMatchObject({ status: 403, body: { code: 'organization_access_denied' } });
    expect(await hasFactor(other.userId)).toBe(true);
  });

  it('resets members of an organization named in body or query', async () => {
    const orgId = await withOrganization(admin.partnerId);
    const [one, two] = [await orgMember(orgId), await orgMember(orgId)];
    expect((await reset(one.userId)).status).toBe(404);
    expectStatus(await reset(one.userId, admin, { orgId }), 200);
    expectStatus(await reset(two.userId, admin, {}, `?orgId=${orgId}`), 200);
    expect([await hasFactor(one.userId), await hasFactor(two.userId)]).toEqual([false, false]);
  });

  it('returns 403 for users in other tenants without naming them', async () => {
    const target = await member();
    const other = await registerPartner(identity);
    await testApp.query(
      `insert into partner_membership (partner_id, user_id, role_id)
       select partner_id, $2, role_id from partner_membership where user_id = $1`,
      [other.userId, target.userId],
    );
    const refused = await reset(target.userId);
    expect(refused).toMatchObject({ status: 403, body: { code: 'user_in_other_tenants' } });
    expect(refused.text).not.toContain(other.partnerId);
    expect(await hasFactor(target.userId)).toBe(true);
    await eventually(async () => {
      const rows = await testApp.query(
        `select details from audit_entry where resource_id = $1 and action = 'user.mfa_reset' and result = 'denied'`,
        [target.userId],
      );
      expect(rows).toEqual([{ details: { reason: 'user_in_other_tenants' } }]);
    });

    const root = (await identity.post('/auth/login', ADMIN)).body.tokens.accessToken as string;
    const platform = await enrollTotp(identity, root);
    const noContext = await reset(target.userId, platform);
    expect(noContext).toMatchObject({ status: 403, body: { code: 'context_required' } });
    expectStatus(await reset(target.userId, platform, { partnerId: other.partnerId }), 200);
  });

  it('returns 403 to an organization administrator for users with other memberships', async () => {
    const orgId = await withOrganization(admin.partnerId);
    const orgAdmin = await orgMember(orgId, 'Org Admin');
    const plain = await orgMember(orgId);
    const both = await orgMember(orgId);
    const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
    await testApp.query('insert into partner_membership (partner_id, user_id, role_id) values ($1, $2, $3)', [
      admin.partnerId,
      both.userId,
      viewer,
    ]);
    expect(await reset(both.userId, orgAdmin)).toMatchObject({ status: 403, body: { code: 'user_in_other_tenants' } });
    expectStatus(await reset(plain.userId, orgAdmin), 200);
    expectStatus(await reset(both.userId, admin, { orgId }), 200);
  });

  it('returns 403 to a partner for a platform administrator', async () => {
    const target = await member();
    await testApp.query('update user_account set is_platform_admin = true where id = $1', [target.userId]);
    expect(await reset(target.userId)).toMatchObject({ status: 403, body: { code: 'user_in_other_tenants' } });
  });

  it('returns 403 when the user has permissions that the caller lacks', async () => {
    const helpdesk = await customRole(admin.partnerId, ['users:read', 'users:write', 'devices:read']);
    const helper = await withFactor(await inviteAndAccept(identity, admin.bearer, { roleId: helpdesk }));
    const chief = await member('Partner Admin');
    const technician = await member('Partner Technician');
    for (const { userId } of [admin, chief, technician]) {
      expect(await reset(userId, helper)).toMatchObject({ status: 403, body: { code: 'permission_not_delegable' } });
      expect(await hasFactor(userId)).toBe(true);
    }
    // What a parent role gives counts too.
    const child = await customRole(admin.partnerId, ['devices:read']);
    const strong = await customRole(admin.partnerId, ['billing:manage']);
    await testApp.query('update role set parent_role_id = $2 where id = $1', [child, strong]);
    const heir = await withFactor(await inviteAndAccept(identity, admin.bearer, { roleId: child }));
    expect((await reset(heir.userId, helper)).body.code).toBe('permission_not_delegable');
    await testApp.query('update role set parent_role_id = null where id = $1', [child]);
    expectStatus(await reset(heir.userId, helper), 200);
  });

  it('succeeds once for two concurrent requests', async () => {
    const target = await member();
    const responses = await Promise.all([1, 2, 3].map(() => reset(target.userId)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
  });

  it('opens no new window for a role that requires MFA', async () => {
    const strict = await testApp.startReplica({ MFA_FORCE_FOR_PARTNER_ADMIN: 'true' });
    const colleague = await member('Partner Admin');
    expectStatus(await reset(colleague.userId), 200);
    const again = expectStatus(await login(colleague.email, strict), 200);
    expect(again.body).toMatchObject({ mfaEnrollmentRequired: true, mfaEnrollmentDeadline: null });
  });

  it('works while MFA is disabled', async () => {
    const target = await member();
    const off = await testApp.startReplica({ ENABLE_2FA: 'false' });
    const { bearer } = sessionOf(expectStatus(await login(admin.email, off), 200));
    expectStatus(await off.post(`/users/${target.userId}/mfa/reset`, undefined, { bearer }), 200);
    expect(await hasFactor(target.userId)).toBe(false);
  });
});
