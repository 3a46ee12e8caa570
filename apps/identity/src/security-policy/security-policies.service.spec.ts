import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { expectStatus, PASSWORD, type IdentityReplica } from '../../test/identity-test-app.js';
import { PolicyTestApp } from '../../test/policy-test-app.js';
import { inviteAndAccept, registerPartner, roleId } from '../../test/users.js';

const NO_TOTP = { allowedMfaMethods: { totp: false } };

describe('SecurityPoliciesService', () => {
  let testApp: PolicyTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await PolicyTestApp.start({ offeredMethods: ['totp'] });
    identity = testApp.identity;
  }, 120_000);
  afterAll(() => testApp.stop());

  describe('of a partner', () => {
    it('is stored in canonical form, merged per key, and cleared by null', async () => {
      const { bearer, partnerId } = await testApp.protectedPartner();
      const first = expectStatus(
        await testApp.patchOwn(bearer, {
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
      await testApp.patchOwn(bearer, change);
      const expected = {
        allowedMfaMethods: { sms: false, totp: true },
        mfaEnrollmentGraceDays: 7,
        passwordMinLength: 14,
      };
      expect((await identity.get('/orgs/partners/me', { bearer })).body.settings).toEqual({ security: expected });
      await eventually(async () =>
        expect(await testApp.auditOf(partnerId, 'security_policy.update')).toMatchObject([
          { result: 'success', details: { before: {}, after: security } },
          { result: 'success', details: { before: security, after: expected } },
        ]),
      );
      expect((await testApp.patchOwn(bearer, null)).body.settings.security).toEqual({});
    });

    it('refuses unknown fields and values out of range, naming each', async () => {
      const { bearer, partnerId } = await testApp.protectedPartner();
      const refused = await testApp.patchOwn(bearer, {
        requireMfa: 'yes',
        allowedMfaMethods: { totp: 1, fax: true },
        mfaEnrollmentGraceDays: 31,
        sessionLifetimeHours: 0,
        passwordMinLength: 65,
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
        const response = await testApp.patchOwn(bearer, security);
        expect([response.status, Object.keys(response.body.details.fieldErrors)]).toEqual([400, [field]]);
      }
      expect(await testApp.stored(partnerId)).toBeNull();
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
        expect(await testApp.auditOf(partnerId, 'security_policy.update')).toMatchObject([
          { result: 'denied', details: { reason: 'mfa_required' } },
        ]),
      );
    });

    it('applies at once: members without a factor get 428 with the allowed methods', async () => {
      const admin = await testApp.protectedPartner();
      const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
      const member = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
      const list = () => identity.get('/users', { bearer: member.bearer });
      expect((await list()).body.code).toBe('permission_denied');
      expectStatus(await testApp.patchOwn(admin.bearer, { requireMfa: true, allowedMfaMethods: { sms: false } }), 200);
      expect(await list()).toMatchObject({
        status: 428,
        body: { code: 'mfa_enrollment_required', allowedMethods: ['totp', 'passkey'] },
      });
      const login = await identity.post('/auth/login', { email: member.email, password: PASSWORD });
      expect(login.body).toMatchObject({ mfaEnrollmentRequired: true, enrollUrl: '/auth/mfa/setup' });
      expectStatus(await testApp.patchOwn(admin.bearer, { requireMfa: false }), 200);
      expect((await list()).body.code).toBe('permission_denied');
    });
  });

  describe('that leaves no method this fleet offers', () => {
    const refused = { status: 400, body: { code: 'mfa_no_method_available' } };

    it('is refused with and without requireMfa, stores nothing and is audited', async () => {
      const { bearer, partnerId } = await testApp.protectedPartner();
      for (const policy of [NO_TOTP, { requireMfa: true, ...NO_TOTP }]) {
        expect(await testApp.patchOwn(bearer, policy)).toMatchObject(refused);
      }
      expect(await testApp.stored(partnerId)).toBeNull();
      await eventually(async () =>
        expect(await testApp.auditOf(partnerId, 'security_policy.update')).toMatchObject(
          [1, 2].map(() => ({ result: 'denied', details: { reason: 'mfa_no_method_available' } })),
        ),
      );
      expectStatus(await testApp.patchOwn(bearer, { requireMfa: true, allowedMfaMethods: { sms: false } }), 200);
    });

    it('is refused to an organization as well, and changes that are no stricter than before are not', async () => {
      const admin = await testApp.provenPartner();
      const orgId = await testApp.withOrganization(admin.partnerId);
      const { status, code } = await testApp.refusal(testApp.request(admin, orgId, NO_TOTP));
      expect([status, code]).toEqual([400, 'mfa_no_method_available']);
      const broken = JSON.stringify({ security: NO_TOTP });
      await testApp.query('UPDATE partner SET settings = $2 WHERE id = $1', [admin.partnerId, broken]);
      expectStatus(await testApp.patchOwn(admin.bearer, { mfaEnrollmentGraceDays: 3 }), 200);
      expect(await testApp.patchOwn(admin.bearer, { requireMfa: true })).toMatchObject(refused);
      expectStatus(await testApp.patchOwn(admin.bearer, { allowedMfaMethods: { totp: true } }), 200);
    });
  });

  describe('of an organization', () => {
    it('is stored before the organization exists, which the directory refuses until it is published', async () => {
      const admin = await testApp.protectedPartner();
      const orgId = randomUUID();
      const request = testApp.request(admin, orgId, { requireMfa: true });
      expect(await testApp.refusal(request)).toMatchObject({ status: 404 });
      expect(await testApp.apply({ ...request, isNew: true })).toEqual({ security: { requireMfa: true }, version: 1 });
      expect(
        await testApp.query('SELECT status, version FROM organization_directory WHERE org_id = $1', [orgId]),
      ).toEqual([{ status: 'unknown', version: '0' }]);
      const other = await testApp.protectedPartner();
      const foreign = { ...testApp.request(other, orgId, { requireMfa: false }), isNew: true };
      expect(await testApp.refusal(foreign)).toMatchObject({ status: 404 });
      const claimed = { ...foreign, orgId: randomUUID(), partnerId: admin.partnerId };
      expect(await testApp.refusal(claimed)).toMatchObject({ status: 404 });
    });

    it('is applied for provisioning: stored, published, audited with its user, and in force', async () => {
      const admin = await testApp.protectedPartner();
      const orgId = await testApp.withOrganization(admin.partnerId);
      const member = await testApp.orgMember(admin, orgId);
      const security = { requireMfa: true, allowedMfaMethods: { sms: false } };
      expect(await testApp.apply(testApp.request(admin, orgId, security))).toEqual({ security, version: 1 });
      expect((await identity.get('/users', { bearer: member.bearer })).status).toBe(428);
      expect((await identity.get('/users', { bearer: admin.bearer })).status).toBe(200);
      await eventually(() =>
        expect(testApp.received.filter((envelope) => envelope.orgId === orgId)).toMatchObject([
          { orgId, data: { orgId, partnerId: admin.partnerId, security, version: 1 } },
        ]),
      );
      await eventually(async () =>
        expect(await testApp.auditOf(admin.partnerId, 'security_policy.update')).toMatchObject([
          { result: 'success', ip_address: '203.0.113.9', org_id: orgId, details: { before: {}, after: security } },
        ]),
      );
      expect(await testApp.apply(testApp.request(admin, orgId, security))).toEqual({ security, version: 1 });
      expect(await testApp.apply(testApp.request(admin, orgId, { requireMfa: null }))).toEqual({
        security: { allowedMfaMethods: { sms: false } },
        version: 2,
      });
    });

    it('is changed once by concurrent requests that name its version', async () => {
      const admin = await testApp.protectedPartner();
      const orgId = await testApp.withOrganization(admin.partnerId);
      const request = (requireMfa: boolean, ifVersion: number) => ({
        ...testApp.request(admin, orgId, { requireMfa }),
        ifVersion,
      });
      const outcomes = await Promise.allSettled([1, 2, 3, 4, 5].map(() => testApp.apply(request(true, 0))));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await testApp.refusal(request(false, 0))).toMatchObject({ status: 412, code: 'precondition_failed' });
      expect(await testApp.apply(request(false, 1))).toMatchObject({ version: 2 });
    });

    it('refuses a session without a factor, other tenants, unknown fields and the fields of partners', async () => {
      const admin = await testApp.protectedPartner();
      const orgId = await testApp.withOrganization(admin.partnerId);
      const asked = testApp.request(admin, orgId, { requireMfa: true });
      const unproven = await registerPartner(identity);
      const ownOrgId = await testApp.withOrganization(unproven.partnerId);
      expect(await testApp.refusal(testApp.request(unproven, ownOrgId, { requireMfa: true }))).toMatchObject({
        status: 403,
        code: 'mfa_required',
      });
      expect(await testApp.refusal({ ...asked, partnerId: randomUUID() })).toMatchObject({ status: 404 });
      expect(await testApp.refusal({ ...asked, orgId: randomUUID() })).toMatchObject({ status: 404 });
      const other = await registerPartner(identity);
      await testApp.apply(asked);
      const theirs = testApp.request(other, orgId, { requireMfa: false });
      expect(await testApp.refusal(theirs)).toMatchObject({ status: 404 });
      const security = { ipAllowlist: [], mfaEnrollmentGraceDays: 3, x: 1 };
      const { status, fieldErrors } = await testApp.refusal({ ...asked, security });
      expect([status, Object.keys(fieldErrors ?? {}).sort()]).toEqual([
        400,
        ['ipAllowlist', 'mfaEnrollmentGraceDays', 'x'].map((field) => `settings.security.${field}`),
      ]);
    });
  });
});
