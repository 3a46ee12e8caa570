import { CertifiedProvider } from '@rmm/testing';
import { eventually } from '@rmm/testing-services';
import { expectStatus } from '../../test/identity-test-app.js';
import { ScimClient, ScimTenants, type ScimTenant } from '../../test/scim-test-app.js';
import { CALLBACK_URL, errorOf, SsoTestApp } from '../../test/sso-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId } from '../../test/users.js';

describe('SCIM of a provider', () => {
  let sso: SsoTestApp;
  let tenants: ScimTenants;
  let tenant: ScimTenant;

  beforeAll(async () => {
    sso = await SsoTestApp.start();
    tenants = new ScimTenants(sso);
    tenant = await tenants.create();
  }, 120_000);
  afterAll(() => sso.stop());

  const pathOf = ({ providerId }: { providerId: string }) => `/sso/providers/${providerId}/scim`;
  const probe = async (client: ScimClient) => {
    const { status, body } = await client.get('/ServiceProviderConfig');
    return [status, body?.code];
  };

  describe('tokens', () => {
    it('are shown once, stored as a hash, and two at a time are valid', async () => {
      const own = await tenants.create();
      const path = `${pathOf(own)}/tokens`;
      const second = expectStatus(await sso.identity.post(path, { name: 'Next' }, own), 201);
      expect(second.headers['cache-control']).toBe('no-store');
      expect(second.body.data.token).toMatch(/^scim_[A-Za-z0-9_-]{43}$/);
      expect(second.body.data.baseUrl).toBe('http://localhost:8080/api/v1/scim/v2');
      const third = await sso.identity.post(path, { name: 'Third' }, own);
      expect([third.status, third.body.code]).toEqual([409, 'too_many_scim_tokens']);
      const next = new ScimClient(sso.identity.app, second.body.data.token as string);
      expect([await probe(own.client), await probe(next)]).toEqual([
        [200, undefined],
        [200, undefined],
      ]);
      const listed = expectStatus(await sso.identity.get(path, own), 200);
      expect(listed.text).not.toContain(own.client.token);
      expect(listed.body.data).toHaveLength(2);
      expect(listed.body.data[0]).toMatchObject({
        name: 'Next',
        createdBy: own.userId,
        lastUsedAt: expect.any(String),
      });
      const rows = await sso.testApp.query('SELECT * FROM scim_token WHERE provider_id = $1', [own.providerId]);
      expect(JSON.stringify(rows)).not.toContain(own.client.token.slice(12));
      const first = (listed.body.data as { id: string; name: string }[]).find(({ name }) => name === 'Entra ID');
      expectStatus(await sso.identity.delete(`${path}/${first?.id}`, own), 200);
      expect([await probe(own.client), await probe(next)]).toEqual([
        [401, 'unauthenticated'],
        [200, undefined],
      ]);
      expect((await sso.identity.delete(`${path}/${first?.id}`, own)).status).toBe(404);
      await eventually(async () => {
        const entries = await sso.audited('scim.token.revoke');
        expect(entries).toHaveLength(1);
        expect(JSON.stringify(entries)).not.toContain(own.client.token);
      });
    });

    it('end at their expiry, which is within 730 days', async () => {
      const own = await tenants.create();
      const path = `${pathOf(own)}/tokens`;
      for (const days of [-1, 731]) {
        const expiresAt = new Date(Date.now() + days * 86_400_000).toISOString();
        expect((await sso.identity.post(path, { name: 'x', expiresAt }, own)).body.code).toBe('validation_failed');
      }
      await sso.testApp.query(`UPDATE scim_token SET expires_at = now() - interval '1 second' WHERE provider_id = $1`, [
        own.providerId,
      ]);
      expect(await probe(own.client)).toEqual([401, 'unauthenticated']);
    });

    it.each([
      ['none', ''],
      ['of another form', 'scim_short'],
      ['that is unknown', `scim_${'a'.repeat(43)}`],
    ])('return 401 with an error of SCIM for a token %s', async (_, token) => {
      const { status, body, headers } = await new ScimClient(sso.identity.app, token).get('/Users');
      expect([status, body.code, body.status]).toEqual([401, 'unauthenticated', '401']);
      expect(headers['content-type']).toBe('application/scim+json; charset=utf-8');
    });

    it('are not accepted by other routes, nor other credentials by SCIM', async () => {
      const used = await sso.identity.get('/users/me', { bearer: tenant.client.token });
      expect([used.status, used.body.code]).toEqual([401, 'unauthenticated']);
      expect(await probe(new ScimClient(sso.identity.app, tenant.bearer))).toEqual([401, 'unauthenticated']);
    });

    it('return 403 while the organization is suspended', async () => {
      const own = await tenants.create();
      await sso.testApp.query(`UPDATE organization_directory SET status = 'suspended' WHERE org_id = $1`, [own.orgId]);
      expect(await probe(own.client)).toEqual([403, 'tenant_inactive']);
    });

    it('end with their provider, whose members stay and are managed no more', async () => {
      const own = await tenants.create();
      const email = `ann@${own.domain}`;
      await own.client.user(email);
      expectStatus(await sso.identity.delete(`/sso/providers/${own.providerId}`, own), 200);
      expect(await probe(own.client)).toEqual([401, 'unauthenticated']);
      const member = await tenants.membership(own, email);
      const listed = expectStatus(await sso.identity.get(`/users/${member?.userId}?orgId=${own.orgId}`, own), 200);
      expect(listed.body.managedBy).toBeNull();
    });
  });

  describe('settings', () => {
    it('are stored with who configured them, for roles that the caller may grant', async () => {
      const roleMappings = [{ group: 'Staff', roleId: tenant.roleId }];
      const saved = expectStatus(await tenants.configure(tenant, { roleMappings }), 200);
      expect(saved.body.data).toEqual({
        baseUrl: 'http://localhost:8080/api/v1/scim/v2',
        groupsByName: false,
        roleMappings,
        configuredBy: tenant.userId,
        defaultRoleId: tenant.roleId,
      });
      expect(expectStatus(await sso.identity.get(pathOf(tenant), tenant), 200).body).toEqual(saved.body);
    });

    it.each([
      [
        'a group twice',
        (role: string) => [
          { group: 'a', roleId: role },
          { group: 'A', roleId: role },
        ],
        'roleMappings',
      ],
      [
        'an unknown role',
        () => [{ group: 'a', roleId: '7d9f2c1e-0000-4000-8000-000000000000' }],
        'roleMappings.0.roleId',
      ],
    ])('refuse %s', async (_, mappings, field) => {
      const { status, body } = await tenants.configure(tenant, { roleMappings: mappings(tenant.roleId) });
      expect([status, Object.keys(body.details.fieldErrors as object)]).toEqual([400, [field]]);
    });

    it('are open to administrators with MFA of the organization alone', async () => {
      const other = await registerPartner(sso.identity);
      const stranger = await enrollTotp(sso.identity, other.bearer);
      const admin = await roleId(sso.identity, tenant.bearer, 'Org Admin', `&orgId=${tenant.orgId}`);
      const unproven = await inviteAndAccept(sso.identity, tenant.bearer, { orgId: tenant.orgId, roleId: admin });
      const member = await inviteAndAccept(sso.identity, tenant.bearer, { orgId: tenant.orgId, roleId: tenant.roleId });
      const restricted = await inviteAndAccept(sso.identity, tenant.bearer, { orgId: tenant.orgId, roleId: admin });
      await sso.testApp.query('UPDATE organization_membership SET site_ids = $1 WHERE user_id = $2', [
        [],
        restricted.userId,
      ]);
      const { bearer } = await enrollTotp(sso.identity, restricted.bearer);
      const create = async (by: { bearer: string }) => {
        const { status, body } = await sso.identity.post(`${pathOf(tenant)}/tokens`, { name: 'x' }, by);
        return [status, body.code];
      };
      expect(await create(stranger)).toEqual([404, 'not_found']);
      expect(await create(unproven)).toEqual([403, 'mfa_required']);
      expect(await create(member)).toEqual([403, 'permission_denied']);
      expect(await create({ bearer })).toEqual([403, 'site_access_denied']);
      expect((await sso.identity.get(pathOf(tenant), member)).status).toBe(403);
      expect((await sso.identity.get(pathOf(tenant), stranger)).status).toBe(404);
    });

    it('return 400 for a provider of the partner', async () => {
      await sso.testApp.query(
        `INSERT INTO sso_provider (id, partner_id, name, type) VALUES (gen_random_uuid(), $1, 'Staff', 'oidc')`,
        [tenant.partnerId],
      );
      const [{ id }] = await sso.testApp.query<{ id: string }>(
        'SELECT id FROM sso_provider WHERE partner_id = $1 AND org_id IS NULL',
        [tenant.partnerId],
      );
      const { status, body } = await sso.identity.post(`/sso/providers/${id}/scim/tokens`, { name: 'x' }, tenant);
      expect([status, body.code]).toEqual([400, 'scim_organization_only']);
    });
  });

  it('describes what it supports', async () => {
    const { client } = tenant;
    const config = expectStatus(await client.get('/ServiceProviderConfig'), 200).body;
    expect(config).toMatchObject({
      patch: { supported: true },
      bulk: { supported: false },
      filter: { maxResults: 100 },
    });
    const types = expectStatus(await client.get('/ResourceTypes'), 200).body;
    expect((types.Resources as { id: string }[]).map(({ id }) => id)).toEqual(['User', 'Group']);
    for (const id of ['/ResourceTypes/User', '/Schemas/urn:ietf:params:scim:schemas:core:2.0:Group', '/Schemas']) {
      expectStatus(await client.get(id), 200);
    }
    expect((await client.get('/ResourceTypes/Robot')).status).toBe(404);
  });

  describe('and single sign-on', () => {
    let provider: CertifiedProvider;
    let own: ScimTenant;

    beforeAll(async () => {
      provider = await CertifiedProvider.start({ redirectUri: CALLBACK_URL });
      own = await tenants.create();
      const providerId = await sso.provider(own, provider.issuer, { defaultRoleId: own.roleId, autoProvision: false });
      own = { ...own, providerId, client: await tenants.client(own, providerId) };
    });
    afterAll(() => provider.stop());

    const signOn = (subject: string, email: string) => {
      provider.accounts.set(subject, { email, email_verified: true, name: 'Uma User' });
      return sso.signOn(provider, subject, own.orgId);
    };

    it('sign a provisioned user in by its address, and no longer once it is inactive', async () => {
      const email = `uma@${own.domain}`;
      const { id } = await own.client.user(email);
      const { bearer, body } = await session(await signOn('subject-uma', email));
      expect(body.user.email).toBe(email);
      expectStatus(await sso.identity.get('/users/me', { bearer }), 200);
      expectStatus(await own.client.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }), 200);
      expect((await sso.identity.get('/users/me', { bearer })).status).toBe(401);
      expect(errorOf(await signOn('subject-uma', email))).toBe('no_org_access');
    });

    it('link the subject that is the externalId, whatever address the provider asserts', async () => {
      const email = `ext@${own.domain}`;
      await own.client.user(email, { externalId: 'subject-ext' });
      const { body } = await session(await signOn('subject-ext', 'alias@elsewhere.test'));
      expect(body.user.email).toBe(email);
    });

    it('sign no user in by the externalId of an inactive user', async () => {
      const { id } = await own.client.user(`off@${own.domain}`, { externalId: 'subject-off' });
      expectStatus(await own.client.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }), 200);
      expect(errorOf(await signOn('subject-off', 'alias2@elsewhere.test'))).toBe('user_not_found');
    });

    it('keep name and address of the account from being changed by hand', async () => {
      const email = `kept@${own.domain}`;
      await own.client.user(email);
      const { bearer } = await session(await signOn('subject-kept', email));
      const refused = await sso.identity.patch('/users/me', { name: 'Other' }, { bearer });
      expect([refused.status, refused.body.code]).toEqual([409, 'managed_by_scim']);
      expectStatus(await sso.identity.patch('/users/me', { preferences: { theme: 'dark' } }, { bearer }), 200);
    });

    async function session(callback: Awaited<ReturnType<typeof signOn>>) {
      const { body } = expectStatus(await sso.exchange(callback), 200);
      return { body, bearer: body.accessToken as string };
    }
  });

  it('returns 503 with an error of SCIM while the database is away, and serves again when it is back', async () => {
    const { testApp } = sso;
    const gate = await testApp.stores.gate(testApp.environment.WORKER_DATABASE_URL ?? '');
    const client = tenant.client.at(await testApp.startReplica({ WORKER_DATABASE_URL: gate.url }));
    expect((await client.get('/Users')).status).toBe(200);
    await gate.shut();
    const { status, body, headers } = await client.get('/Users');
    expect([status, body.status, body.code]).toEqual([503, '503', 'service_unavailable']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    await gate.open();
    await eventually(async () => expect((await client.get('/Users')).status).toBe(200));
  });
});
