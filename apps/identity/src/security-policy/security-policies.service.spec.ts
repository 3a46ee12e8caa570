import { randomUUID } from 'node:crypto';
import {
  IDENTITY_SECURITY_POLICY_APPLY,
  PROVISIONING_ORGANIZATIONS_GET,
  subjects,
  type ActingUser,
  type ApplySecurityPolicyRequest,
  type Envelope,
  type OrganizationState,
} from '@rmm/contracts';
import { NatsLink, RpcClient } from '@rmm/messaging';
import type { DomainError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshAddress,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf, type TestUser } from '../../test/users.js';

const NO_METHODS = { totp: false, sms: false };

describe('security policies', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let provisioning: NatsLink;
  let onlooker: NatsLink;
  let rpc: RpcClient;
  const organizations = new Map<string, OrganizationState>();
  const received: Envelope[] = [];

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    provisioning = new NatsLink({ url: testApp.nats.urlFor('provisioning'), name: 'provisioning-spec' });
    await provisioning.open();
    rpc = new RpcClient(provisioning);
    // Replies to the organization directory in place of provisioning.
    provisioning.connection.subscribe(PROVISIONING_ORGANIZATIONS_GET.subject, {
      callback: (_, message) => {
        const found = message.json<{ orgIds: string[] }>().orgIds.flatMap((id) => organizations.get(id) ?? []);
        message.respond(JSON.stringify({ value: { organizations: found } }));
      },
    });
    onlooker = new NatsLink({ url: testApp.nats.adminUrl, name: 'onlooker' });
    await onlooker.open();
    onlooker.connection.subscribe(subjects.internal('identity', 'organization.security_policy_updated'), {
      callback: (_, message) => void received.push(message.json<Envelope>()),
    });
    await Promise.all([provisioning.connection.flush(), onlooker.connection.flush()]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all([provisioning?.close(), onlooker?.close()]);
    await testApp.stop();
  });

  /** A partner whose administrator has satisfied MFA by an authenticator app. */
  const protectedPartner = async () => {
    const partner = await registerPartner(identity);
    return { ...partner, ...(await enrollTotp(identity, partner.bearer)) };
  };
  /** Registers a partner whose session has satisfied MFA, and removes the factor again. */
  const provenPartner = async () => {
    const partner = await protectedPartner();
    await testApp.query('delete from totp_factor where user_id = $1', [partner.userId]);
    await testApp.query('update user_account set mfa_enabled = false, mfa_method = null where id = $1', [
      partner.userId,
    ]);
    return partner;
  };
  const withOrganization = async (partnerId: string) => {
    const orgId = randomUUID();
    const event = {
      orgId,
      partnerId,
      name: 'Customer',
      slug: `customer-${orgId}`,
      status: 'active',
      version: 1,
    } as const;
    organizations.set(orgId, { ...event, deleted: false });
    await testApp.query(
      `insert into organization_directory (org_id, partner_id, name, slug, status, version)
       values ($1, $2, $3, $4, $5, $6)`,
      Object.values(event),
    );
    return orgId;
  };
  const orgMember = async ({ bearer }: { bearer: string }, orgId: string) => {
    const role = await roleId(identity, bearer, 'Org Admin', `&orgId=${orgId}`);
    return inviteAndAccept(identity, bearer, { roleId: role, orgId });
  };
  const patchOwn = (bearer: string, security: unknown, from?: string) =>
    identity.patch('/orgs/partners/me', { settings: { security } }, { bearer, from });
  const stored = async (partnerId: string) =>
    (
      await testApp.query<{ security: unknown }>(
        `select settings -> 'security' as security from partner where id = $1`,
        [partnerId],
      )
    )[0]?.security;
  const auditOf = (partnerId: string, action: string) =>
    testApp.query<{ result: string; details: Record<string, unknown>; ip_address: string; org_id: string }>(
      'select result, details, ip_address, org_id from audit_entry where partner_id = $1 and action = $2 order by sequence',
      [partnerId, action],
    );

  /** The user of a session, as provisioning sends it. */
  const actingUser = ({ userId, partnerId, bearer }: TestUser): ActingUser => ({
    kind: 'user',
    userId,
    sessionId: JSON.parse(Buffer.from(bearer.split('.')[1] ?? '', 'base64url').toString()).sid as string,
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [] },
  });
  const request = (partner: TestUser, orgId: string, security: unknown): ApplySecurityPolicyRequest => ({
    orgId,
    partnerId: partner.partnerId,
    orgName: 'Customer',
    security,
    caller: actingUser(partner),
    ipAddress: '203.0.113.9',
    userAgent: 'spec',
  });
  const apply = (asked: ApplySecurityPolicyRequest) => rpc.call(IDENTITY_SECURITY_POLICY_APPLY, asked);
  const refusal = (asked: ApplySecurityPolicyRequest) =>
    apply(asked).then(
      () => Promise.reject(new Error('it was applied')),
      ({ status, code, extras, fieldErrors }: DomainError) => ({ status, code, extras, fieldErrors }),
    );

  describe('of a partner', () => {
    it('is stored in canonical form, merged per key, and cleared by null', async () => {
      const { bearer, partnerId } = await protectedPartner();
      const first = expectStatus(
        await patchOwn(bearer, {
          requireMfa: true,
          allowedMethods: { sms: false },
          mfaEnrollmentGraceDays: 7,
          sessionLifetimeHours: 12,
          passwordMinLength: 14,
        }),
        200,
      );
      const security = {
        requireMfa: true,
        allowedMfaMethods: { sms: false },
        mfaEnrollmentGraceDays: 7,
        sessionLifetimeHours: 12,
        passwordMinLength: 14,
      };
      expect(first.body.settings).toEqual({ security });
      const change = { requireMfa: null, allowedMfaMethods: { totp: true }, sessionLifetimeHours: null };
      await patchOwn(bearer, change);
      const expected = {
        allowedMfaMethods: { sms: false, totp: true },
        mfaEnrollmentGraceDays: 7,
        passwordMinLength: 14,
      };
      expect((await identity.get('/orgs/partners/me', { bearer })).body.settings).toEqual({ security: expected });
      await eventually(async () =>
        expect(await auditOf(partnerId, 'security_policy.update')).toMatchObject([
          { result: 'success', details: { before: {}, after: security } },
          { result: 'success', details: { before: security, after: expected } },
        ]),
      );
      expect((await patchOwn(bearer, null)).body.settings.security).toEqual({});
    });

    it('refuses unknown fields and values out of range, naming each', async () => {
      const { bearer, partnerId } = await protectedPartner();
      const refused = await patchOwn(bearer, {
        requireMfa: 'yes',
        allowedMfaMethods: { totp: 1, fax: true },
        mfaEnrollmentGraceDays: 31,
        sessionLifetimeHours: 0,
        passwordMinLength: 7,
        lockScreen: true,
      });
      expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      expect(Object.keys(refused.body.details.fieldErrors).sort()).toEqual(
        [
          'allowedMfaMethods.fax',
          'allowedMfaMethods.totp',
          'lockScreen',
          'mfaEnrollmentGraceDays',
          'passwordMinLength',
          'requireMfa',
          'sessionLifetimeHours',
        ].map((field) => `settings.security.${field}`),
      );
      for (const [security, field] of [
        [{ ipAllowlist: ['10.0.0.0/8', '10/8'] }, 'settings.security.ipAllowlist.1'],
        [{ ipAllowlist: Array.from({ length: 201 }, (_, n) => `10.0.0.${n}`) }, 'settings.security.ipAllowlist'],
        [{ allowedMethods: {}, allowedMfaMethods: {} }, 'settings.security.allowedMethods'],
        [[], 'settings.security'],
      ] as const) {
        const response = await patchOwn(bearer, security);
        expect([response.status, Object.keys(response.body.details.fieldErrors)]).toEqual([400, [field]]);
      }
      expect(await stored(partnerId)).toBeNull();
    });

    it('needs a session with a factor; without one nothing of the request is stored', async () => {
      const { bearer, partnerId } = await registerPartner(identity);
      const body = { name: 'Renamed', settings: { security: { requireMfa: true } } };
      expect(await identity.patch('/orgs/partners/me', body, { bearer })).toMatchObject({
        status: 403,
        body: { code: 'mfa_required', error: 'MFA required' },
      });
      const shown = await identity.get('/orgs/partners/me', { bearer });
      expect([shown.body.name, shown.body.settings]).toEqual(['Acme MSP', {}]);
      await eventually(async () =>
        expect(await auditOf(partnerId, 'security_policy.update')).toMatchObject([
          { result: 'denied', details: { reason: 'mfa_required' } },
        ]),
      );
    });

    it('applies at once: members without a factor get 428 with the allowed methods', async () => {
      const admin = await protectedPartner();
      const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
      const member = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
      const list = () => identity.get('/users', { bearer: member.bearer });
      expect((await list()).body.code).toBe('permission_denied');
      expectStatus(await patchOwn(admin.bearer, { requireMfa: true, allowedMfaMethods: { sms: false } }), 200);
      expect(await list()).toMatchObject({
        status: 428,
        body: { code: 'mfa_enrollment_required', allowedMethods: ['totp', 'passkey'] },
      });
      const login = await identity.post('/auth/login', { email: member.email, password: PASSWORD });
      expect(login.body).toMatchObject({ mfaEnrollmentRequired: true, enrollUrl: '/auth/mfa/setup' });
      expectStatus(await patchOwn(admin.bearer, { requireMfa: false }), 200);
      expect((await list()).body.code).toBe('permission_denied');
    });
  });

  describe('that would lock out enrolled users', () => {
    it('is refused with their number, of the partner and all its organizations, and stores nothing', async () => {
      const admin = await protectedPartner();
      const orgId = await withOrganization(admin.partnerId);
      const member = await orgMember(admin, orgId);
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
        expect(await auditOf(admin.partnerId, 'security_policy.update')).toMatchObject([
          { result: 'denied', details: { reason: 'mfa_policy_would_lock_out_users', count: 2 } },
        ]),
      );
      await testApp.query(`update user_account set status = 'disabled' where id = $1`, [member.userId]);
      expect((await patchOwn(admin.bearer, { allowedMfaMethods: NO_METHODS })).body.count).toBe(1);
    });

    it('is checked by the policies of each member: a method the organization forbids does not count', async () => {
      const admin = await provenPartner();
      const orgId = await withOrganization(admin.partnerId);
      const member = await orgMember(admin, orgId);
      await testApp.query(
        `update user_account set mfa_enabled = true, mfa_method = 'sms', phone_verified = true where id = $1`,
        [member.userId],
      );
      await apply(request(admin, orgId, { allowedMfaMethods: { totp: false } }));
      expect(await refusal(request(admin, orgId, { allowedMfaMethods: { sms: false } }))).toMatchObject({
        status: 409,
      });
      expectStatus(await patchOwn(admin.bearer, { allowedMfaMethods: { totp: false } }), 200);
      expect((await patchOwn(admin.bearer, { allowedMfaMethods: { sms: false } })).body).toMatchObject({ count: 1 });
      await testApp.query(
        `insert into totp_factor (user_id, secret_sealed) values ($1, 'sealed') on conflict (user_id) do nothing`,
        [member.userId],
      );
      // With a TOTP app in addition to the phone, SMS may be forbidden where both policies allow TOTP.
      expectStatus(await patchOwn(admin.bearer, { allowedMfaMethods: { totp: true } }), 200);
      expect((await patchOwn(admin.bearer, { allowedMfaMethods: { sms: false } })).body).toMatchObject({ count: 1 });
      await apply(request(admin, orgId, { allowedMfaMethods: { totp: true } }));
      expectStatus(await patchOwn(admin.bearer, { allowedMfaMethods: { sms: false } }), 200);
    });

    it('ignores users with a passkey, users without a factor, and changes that are no stricter than before', async () => {
      const admin = await protectedPartner();
      await testApp.query(`update user_account set mfa_method = 'passkey' where id = $1`, [admin.userId]);
      expectStatus(await patchOwn(admin.bearer, { requireMfa: true, allowedMfaMethods: NO_METHODS }), 200);
      await testApp.query(`update user_account set mfa_method = 'totp' where id = $1`, [admin.userId]);
      const settings = { security: { mfaEnrollmentGraceDays: 3 }, theme: 'dark' };
      const edit = { name: 'Broken MSP', settings };
      expectStatus(await identity.patch('/orgs/partners/me', edit, { bearer: admin.bearer }), 200);
      expectStatus(await patchOwn(admin.bearer, { requireMfa: false }), 200);
      expect(await patchOwn(admin.bearer, { requireMfa: true })).toMatchObject({ status: 409, body: { count: 1 } });
      expectStatus(await patchOwn(admin.bearer, { allowedMfaMethods: { totp: true } }), 200);
    });

    it('counts up to 1000 users', async () => {
      const admin = await protectedPartner();
      await testApp.query(
        `with users as (
           insert into user_account (email, name, status, mfa_enabled, mfa_method)
           select 'many-' || n || $3, 'Many', 'active', true, 'totp' from generate_series(1, 1000) n returning id
         )
         insert into partner_membership (partner_id, user_id, role_id) select $1, id, $2 from users`,
        [admin.partnerId, await roleId(identity, admin.bearer, 'Partner Viewer'), `-${randomUUID()}@users.test`],
      );
      const refused = await patchOwn(admin.bearer, { allowedMfaMethods: NO_METHODS });
      expect(refused.body).toMatchObject({ count: 1000, countCapped: true });
    });

    it('is refused to one of two concurrent changes, of partner and organization, that together lock out users', async () => {
      const admin = await provenPartner();
      const orgId = await withOrganization(admin.partnerId);
      const member = await orgMember(admin, orgId);
      await testApp.query(`update user_account set mfa_enabled = true, mfa_method = 'sms' where id = $1`, [
        member.userId,
      ]);
      await testApp.query(`insert into totp_factor (user_id, secret_sealed) values ($1, 'sealed')`, [member.userId]);
      const [byPartner, byOrganization] = await Promise.all([
        patchOwn(admin.bearer, { allowedMfaMethods: { totp: false } }).then(({ status }) => status),
        apply(request(admin, orgId, { allowedMfaMethods: { sms: false } })).then(
          () => 200,
          ({ status }: DomainError) => status,
        ),
      ]);
      expect([byPartner, byOrganization].sort()).toEqual([200, 409]);
    });

    it('and a concurrent enrollment are never both accepted', async () => {
      for (let round = 0; round < 4; round += 1) {
        const admin = await provenPartner();
        const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
        const { bearer } = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
        const setup = expectStatus(await identity.post('/auth/mfa/setup', undefined, { bearer }), 200).body;
        const code = totpCode(setup.secret as string);
        const [enabled, policy] = await Promise.all([
          identity.post('/auth/mfa/enable', { code }, { bearer }),
          patchOwn(admin.bearer, { allowedMfaMethods: NO_METHODS }),
        ]);
        expect([enabled.status, policy.status].sort()).not.toEqual([200, 200]);
        if (enabled.status !== 200) expect(enabled.body.code).toBe('mfa_method_not_allowed');
        if (policy.status !== 200) expect(policy.body.code).toBe('mfa_policy_would_lock_out_users');
      }
    }, 60_000);
  });

  describe('of an organization', () => {
    it('is applied for provisioning: stored, published, audited with its user, and in force', async () => {
      const admin = await protectedPartner();
      const orgId = await withOrganization(admin.partnerId);
      const member = await orgMember(admin, orgId);
      const security = { requireMfa: true, allowedMfaMethods: { sms: false } };
      expect(await apply(request(admin, orgId, security))).toEqual({ security, version: 1 });
      expect((await identity.get('/users', { bearer: member.bearer })).status).toBe(428);
      expect((await identity.get('/users', { bearer: admin.bearer })).status).toBe(200);
      await eventually(() =>
        expect(received.filter((envelope) => envelope.orgId === orgId)).toMatchObject([
          { orgId, data: { orgId, partnerId: admin.partnerId, security, version: 1 } },
        ]),
      );
      await eventually(async () =>
        expect(await auditOf(admin.partnerId, 'security_policy.update')).toMatchObject([
          { result: 'success', ip_address: '203.0.113.9', org_id: orgId, details: { before: {}, after: security } },
        ]),
      );
      expect(await apply(request(admin, orgId, security))).toEqual({ security, version: 1 });
      expect(await apply(request(admin, orgId, { requireMfa: null }))).toEqual({
        security: { allowedMfaMethods: { sms: false } },
        version: 2,
      });
    });

    it('refuses a session without a factor, other tenants, unknown fields and the fields of partners', async () => {
      const admin = await protectedPartner();
      const orgId = await withOrganization(admin.partnerId);
      const asked = request(admin, orgId, { requireMfa: true });
      const unproven = await registerPartner(identity);
      const ownOrgId = await withOrganization(unproven.partnerId);
      expect(await refusal(request(unproven, ownOrgId, { requireMfa: true }))).toMatchObject({
        status: 403,
        code: 'mfa_required',
      });
      expect(await refusal({ ...asked, partnerId: randomUUID() })).toMatchObject({ status: 404 });
      expect(await refusal({ ...asked, orgId: randomUUID() })).toMatchObject({ status: 404 });
      const other = await registerPartner(identity);
      await apply(asked);
      const theirs = request(other, orgId, { requireMfa: false });
      expect(await refusal(theirs)).toMatchObject({ status: 404 });
      const security = { ipAllowlist: [], mfaEnrollmentGraceDays: 3, x: 1 };
      const { status, fieldErrors } = await refusal({ ...asked, security });
      expect([status, Object.keys(fieldErrors ?? {}).sort()]).toEqual([
        400,
        ['ipAllowlist', 'mfaEnrollmentGraceDays', 'x'].map((field) => `settings.security.${field}`),
      ]);
    });
  });

  describe('of an organization, asked for with a caller that provisioning claims', () => {
    let admin: TestUser;
    let asked: ApplySecurityPolicyRequest;
    const withCaller = (caller: Partial<ActingUser>) => refusal({ ...asked, caller: { ...asked.caller, ...caller } });
    const withTenant = (tenant: Partial<ActingUser['tenant']>) =>
      withCaller({ tenant: { ...asked.caller.tenant, ...tenant } });
    const invalid = { status: 401, code: 'unauthenticated' };

    beforeAll(async () => {
      admin = await protectedPartner();
      asked = request(admin, await withOrganization(admin.partnerId), { requireMfa: true });
    });

    it('refuses a user that does not exist, a session of another user and one that does not exist', async () => {
      const other = await protectedPartner();
      expect(await withCaller({ userId: randomUUID() })).toMatchObject(invalid);
      expect(await withCaller({ sessionId: randomUUID() })).toMatchObject(invalid);
      expect(await withCaller({ sessionId: actingUser(other).sessionId })).toMatchObject(invalid);
    });

    it('refuses a scope or tenant that is not the one of the session', async () => {
      expect(await withTenant({ scope: 'system', partnerId: null })).toMatchObject(invalid);
      expect(await withTenant({ partnerId: randomUUID() })).toMatchObject(invalid);
      expect(await withTenant({ scope: 'organization', orgId: asked.orgId })).toMatchObject(invalid);
    });

    it('refuses a user without the permission, or without access to the organization', async () => {
      const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
      const member = {
        ...(await inviteAndAccept(identity, admin.bearer, { roleId: viewer })),
        partnerId: admin.partnerId,
      };
      expect(await withCaller(actingUser(member))).toMatchObject({ status: 403, code: 'permission_denied' });
      await testApp.query(`update partner_membership set org_access = 'selected', org_ids = $2 where user_id = $1`, [
        member.userId,
        [randomUUID()],
      ]);
      expect(await withCaller(actingUser(member))).toMatchObject({ status: 404 });
      const claimed = actingUser(member);
      claimed.tenant.orgAccess = 'all';
      expect(await withCaller(claimed)).toMatchObject({ status: 404 });
    });

    it('refuses an ended session and stores nothing', async () => {
      await testApp.query('update session_family set revoked_at = now() where id = $1', [asked.caller.sessionId]);
      expect(await refusal(asked)).toMatchObject(invalid);
      expect(
        await testApp.query('select 1 from organization_security_policy where org_id = $1', [asked.orgId]),
      ).toEqual([]);
    });

    it('refuses a request without a caller, or with claims in its place', async () => {
      const { caller: _, ...without } = asked;
      const claims = { userId: admin.userId, scope: 'system', mfa: true };
      for (const caller of [undefined, claims]) {
        expect(await refusal({ ...without, caller } as never)).toMatchObject({
          status: 400,
          code: 'validation_failed',
        });
      }
    });
  });

  describe('on addresses', () => {
    it("is refused when the allowlist lacks the caller's address", async () => {
      const { bearer, partnerId } = await protectedPartner();
      const from = freshAddress();
      expect(await patchOwn(bearer, { ipAllowlist: ['198.51.100.0/24'] }, from)).toMatchObject({
        status: 409,
        body: { code: 'ip_allowlist_would_lock_out_caller' },
      });
      expect(await stored(partnerId)).toBeNull();
      const set = expectStatus(await patchOwn(bearer, { ipAllowlist: [`${from}/24`, '2001:DB8::/32'] }, from), 200);
      const network = from.replace(/\.\d+$/, '.0/24');
      expect(set.body.settings.security.ipAllowlist).toEqual([network, '2001:db8::/32']);
    });

    it('refuses other addresses with the next request and at login, until it is empty again', async () => {
      const { bearer, email, partnerId, secret } = await protectedPartner();
      const [inside, outside] = ['198.51.100.7', '192.0.2.7'];
      const users = (from: string) => identity.get('/users', { bearer, from });
      expect((await users(outside)).status).toBe(200);
      expectStatus(await patchOwn(bearer, { ipAllowlist: ['198.51.100.0/24'] }, inside), 200);
      expect(await users(outside)).toMatchObject({ status: 403, body: { code: 'ip_not_allowed' } });
      expect((await users(inside)).status).toBe(200);
      const login = (from: string) => identity.post('/auth/login', { email, password: PASSWORD }, { from });
      expect(await login(outside)).toMatchObject({ status: 403, body: { code: 'ip_not_allowed' } });
      expect((await login(inside)).body.mfaRequired).toBe(true);
      await eventually(async () =>
        expect((await auditOf(partnerId, 'ip_allowlist.denied')).map(({ result }) => result)).toEqual([
          'denied',
          'denied',
        ]),
      );
      expectStatus(await patchOwn(bearer, { ipAllowlist: [] }, inside), 200);
      const { tempToken } = (await login(outside)).body;
      const code = totpCode(secret, 1);
      expectStatus(await identity.post('/auth/mfa/verify', { code, tempToken }, { from: outside }), 200);
    });

    it('does not apply to a platform administrator, whose access is audited', async () => {
      const admin = await protectedPartner();
      const viewer = await roleId(identity, admin.bearer, 'Partner Admin');
      const member = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
      expectStatus(await patchOwn(admin.bearer, { ipAllowlist: ['198.51.100.0/24'] }, '198.51.100.7'), 200);
      const users = () => identity.get('/users', { bearer: member.bearer, from: '192.0.2.7' });
      expect((await users()).status).toBe(403);
      await testApp.query('update user_account set is_platform_admin = true where id = $1', [member.userId]);
      expectStatus(await patchOwn(admin.bearer, { passwordMinLength: 9 }, '198.51.100.7'), 200);
      expect((await users()).status).toBe(200);
      await eventually(async () =>
        expect(await auditOf(admin.partnerId, 'ip_allowlist.bypass_platform_admin')).toMatchObject([
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
      const admin = await protectedPartner();
      const orgId = await withOrganization(admin.partnerId);
      const member = await orgMember(admin, orgId);
      expect(await endOf(member.userId)).toBe(30 * 24);
      expectStatus(await patchOwn(admin.bearer, { sessionLifetimeHours: 48 }), 200);
      await apply(request(admin, orgId, { sessionLifetimeHours: 12 }));
      const { cookies } = member;
      const headers = { 'x-service-csrf': cookies.service_csrf_token ?? '' };
      const refreshed = expectStatus(await identity.post('/auth/refresh', undefined, { cookies, headers }), 200);
      expect(await endOf(member.userId)).toBe(12);
      const login = await identity.post('/auth/login', { email: member.email, password: PASSWORD });
      expect(await endOf(member.userId)).toBe(12);
      await apply(request(admin, orgId, { sessionLifetimeHours: 2000 }));
      await identity.post('/auth/login', { email: member.email, password: PASSWORD });
      expect(await endOf(member.userId)).toBe(48);
      expect(login.status).toBe(200);

      await testApp.query(`update session_family set created_at = now() - interval '49 hours' where user_id = $1`, [
        member.userId,
      ]);
      const next = sessionOf(refreshed).cookies;
      const again = await identity.post('/auth/refresh', undefined, {
        cookies: next,
        headers: { 'x-service-csrf': next.service_csrf_token ?? '' },
      });
      expect(again).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
    });

    it('requires the greatest password length of all tenants of the user', async () => {
      const admin = await protectedPartner();
      const other = await protectedPartner();
      const orgId = await withOrganization(admin.partnerId);
      expectStatus(await patchOwn(admin.bearer, { passwordMinLength: 12 }), 200);
      await apply(request(admin, orgId, { passwordMinLength: 24 }));
      const member = await inviteAndAccept(identity, other.bearer, {
        roleId: await roleId(identity, other.bearer, 'Partner Viewer'),
      });
      const change = (newPassword: string) =>
        identity.post('/auth/change-password', { currentPassword: PASSWORD, newPassword }, { bearer: member.bearer });
      const role = await roleId(identity, admin.bearer, 'Org Viewer', `&orgId=${orgId}`);
      const invite = { email: member.email, name: 'Robin Vale', roleId: role, orgId };
      expectStatus(await identity.post('/users/invite', invite, { bearer: admin.bearer }), 201);
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
