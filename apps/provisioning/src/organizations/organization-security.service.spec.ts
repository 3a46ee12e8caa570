import { randomUUID } from 'node:crypto';
import { type ApplySecurityPolicyRequest } from '@rmm/contracts';
import { ConflictError, serializeError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

class WouldLockOut extends ConflictError {
  override code = 'mfa_policy_would_lock_out_users';
  override error = 'The policy would lock out users who are enrolled';
}

const SECURITY = { requireMfa: true, allowedMfaMethods: { sms: false } };

describe('settings.security of an organization', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let asked: ApplySecurityPolicyRequest[];

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
  });
  afterAll(() => testApp?.stop());

  beforeEach(async () => {
    const client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Customer', settings: { theme: 'dark' } })).body.id;
    asked = [];
    let version = 0;
    testApp.identity.onApplyPolicy = (request) => {
      asked.push(request);
      return { value: { security: SECURITY, version: (version += 1) } };
    };
  });

  const path = () => `/orgs/organizations/${orgId}`;
  const publishPolicy = (version: number, security: object, about = orgId) =>
    testApp.publishEvent({
      type: 'organization.security_policy_updated',
      partnerId,
      aggregateVersion: version,
      data: { orgId: about, partnerId, security, version },
    });

  it('names the version of the policy to identity for a request with If-Match', async () => {
    const client = await testApp.clientFor({ partnerId });
    const { etag } = (await client.get(path())).headers as { etag: string };
    const body = { settings: { security: { requireMfa: true } } };
    const changed = await client.patch(path(), body).set('If-Match', etag);
    expect([changed.status, asked[0].ifVersion]).toEqual([200, 0]);
    const refused = await client.patch(path(), body).set('If-Match', etag);
    expect([refused.status, refused.body.code, asked.length]).toEqual([412, 'precondition_failed', 1]);
    const again = await client.patch(path(), body).set('If-Match', changed.headers['etag'] ?? '');
    expect([again.status, asked[1].ifVersion]).toEqual([200, expect.any(Number)]);
    expect(asked[1].ifVersion).toBeGreaterThan(0);
    expect((await client.patch(path(), body)).status).toBe(200);
    expect(asked[2]).not.toHaveProperty('ifVersion');
  });

  it('sends the policy to identity with the caller, stores the rest and returns both', async () => {
    const client = await testApp.clientFor({ partnerId });
    const security = { requireMfa: true, allowedMethods: { sms: false } };
    const response = await client.patch(path(), { name: 'Renamed', settings: { security, locale: 'de' } });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      name: 'Renamed',
      settings: { theme: 'dark', locale: 'de', security: SECURITY },
    });
    expect(asked).toMatchObject([
      {
        orgId,
        partnerId,
        orgName: 'Customer',
        security,
        caller: {
          kind: 'user',
          userId: expect.any(String),
          sessionId: expect.any(String),
          tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [] },
        },
        ipAddress: expect.any(String),
      },
    ]);
    const shown = await client.get(path());
    expect(shown.body.settings.security).toEqual(SECURITY);
    const listed = (await client.get('/orgs/organizations')).body.data as { id: string; settings: object }[];
    expect(listed.find(({ id }) => id === orgId)?.settings).toMatchObject({ security: SECURITY });
    const update = await testApp.waitForMessage('organization.update', (envelope) => envelope.orgId === orgId);
    expect(update.data).toMatchObject({ details: { fields: ['name', 'settings'] } });
  });

  it('lets an organization caller change the policy alone and shows it no other settings', async () => {
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId });
    const response = await member.patch(path(), { settings: { security: { requireMfa: true } } });
    expect([response.status, response.body.settings]).toEqual([200, { security: SECURITY }]);
    expect(asked[0].caller.tenant).toMatchObject({ scope: 'organization', orgId });
    const { rows } = await testApp.admin.query('select version from organization where id = $1', [orgId]);
    expect(rows).toEqual([{ version: '1' }]);
  });

  it('stores nothing and returns the error of identity when identity refuses the policy', async () => {
    const client = await testApp.clientFor({ partnerId });
    const refusal = new WouldLockOut(undefined, { extras: { count: 3, countCapped: false } });
    testApp.identity.onApplyPolicy = () => ({ error: serializeError(refusal) });
    const response = await client.patch(path(), { name: 'Renamed', settings: { security: SECURITY, locale: 'de' } });
    expect([response.status, response.body]).toMatchObject([
      409,
      { code: 'mfa_policy_would_lock_out_users', error: refusal.error, count: 3, countCapped: false },
    ]);
    expect((await client.get(path())).body).toMatchObject({ name: 'Customer', settings: { theme: 'dark' } });
    expect((await client.get(path())).body.settings.security).toBeUndefined();
  });

  it('does not call identity for a request that fails: no factor, other tenant, no permission, slug taken', async () => {
    const body = { slug: `taken-${orgId.slice(0, 8)}`, settings: { security: SECURITY } };
    const client = await testApp.clientFor({ partnerId });
    await client.post('/orgs/organizations', { name: 'Other', slug: body.slug });
    const other = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    const attempts = [
      [await testApp.clientFor({ partnerId, mfa: false }), 403, 'mfa_required'],
      [await testApp.clientFor({ partnerId, permissions: ['organizations:read'] }), 403, 'permission_denied'],
      [await testApp.clientFor({ scope: 'organization', partnerId, orgId }), 403, 'scope_not_allowed'],
      [other, 404, 'not_found'],
      [client, 409, 'organization_slug_conflict'],
    ] as const;
    for (const [client, status, code] of attempts) {
      const response = await client.patch(path(), body);
      expect([response.status, response.body.code]).toEqual([status, code]);
    }
    expect(asked).toEqual([]);
    const denied = await testApp.waitForMessage('security_policy.update', ({ data }) =>
      JSON.stringify(data).includes(orgId),
    );
    expect(denied.data).toMatchObject({ result: 'denied', details: { reason: 'mfa_required' } });
  });

  it('is applied by identity before an organization is created with it', async () => {
    const client = await testApp.clientFor({ partnerId });
    const settings = { security: { requireMfa: true }, theme: 'dark' };
    const created = await client.post('/orgs/organizations', { name: 'Secured', settings });
    expect([created.status, created.body.settings]).toEqual([201, { theme: 'dark', security: SECURITY }]);
    const { id } = created.body;
    expect(asked).toMatchObject([
      { orgId: id, partnerId, orgName: 'Secured', isNew: true, security: { requireMfa: true } },
    ]);
    expect((await client.get(`/orgs/organizations/${id}`)).body.settings.security).toEqual(SECURITY);
  });

  it('creates no organization when identity refuses its policy or does not reply', async () => {
    const client = await testApp.clientFor({ partnerId });
    const name = `Refused ${randomUUID()}`;
    const create = () => client.post('/orgs/organizations', { name, settings: { security: SECURITY } });
    testApp.identity.onApplyPolicy = () => ({ error: serializeError(new WouldLockOut()) });
    expect((await create()).body.code).toBe('mfa_policy_would_lock_out_users');
    testApp.identity.onApplyPolicy = () => undefined;
    expect((await create()).status).toBe(503);
    const { rows } = await testApp.admin.query('SELECT id FROM organization WHERE name = $1', [name]);
    expect(rows).toEqual([]);
  });

  it('asks identity for no policy of an organization that cannot be created', async () => {
    const client = await testApp.clientFor({ partnerId });
    await client.post('/orgs/organizations', { name: 'First', slug: 'first-of-two' });
    const settings = { security: SECURITY };
    const create = (by: typeof client, body: object) =>
      by.post('/orgs/organizations', { name: 'X', settings, ...body });
    const unproven = await testApp.clientFor({ partnerId, mfa: false });
    expect((await create(unproven, {})).body.code).toBe('mfa_required');
    expect((await create(client, { slug: 'first-of-two' })).body.code).toBe('organization_slug_conflict');
    expect((await create(client, { settings: { ...settings, locale: 5 } })).status).toBe(400);
    const full = await testApp.clientFor({ partnerId: await testApp.createPartner({ maxOrganizations: 0 }) });
    expect((await create(full, {})).body.code).toBe('organization_limit_reached');
    expect(asked).toEqual([]);
  });

  it('returns 503 and stores nothing while identity does not reply', async () => {
    const client = await testApp.clientFor({ partnerId });
    testApp.identity.onApplyPolicy = () => undefined;
    const response = await client.patch(path(), { name: 'Renamed', settings: { security: SECURITY } });
    expect([response.status, response.body.code]).toEqual([503, 'service_unavailable']);
    expect((await client.get(path())).body.name).toBe('Customer');
  });

  it('stores published policies and ignores older ones and those of a foreign organization', async () => {
    const client = await testApp.clientFor({ partnerId });
    const [newest, unknown] = [{ requireMfa: true }, randomUUID()];
    await publishPolicy(3, newest);
    await publishPolicy(2, { requireMfa: false });
    await publishPolicy(4, {}, unknown);
    await publishPolicy(5, { passwordMinLength: 12 });
    await eventually(async () =>
      expect((await client.get(path())).body.settings.security).toEqual({ passwordMinLength: 12 }),
    );
    const { rows } = await testApp.admin.query('select org_id from organization_security where org_id = $1', [unknown]);
    expect(rows).toEqual([]);
  });

  it('keeps a newer published policy when the reply of identity is older', async () => {
    const client = await testApp.clientFor({ partnerId });
    await publishPolicy(9, { passwordMinLength: 20 });
    await eventually(async () => expect((await client.get(path())).body.settings.security).toBeDefined());
    const response = await client.patch(path(), { settings: { security: SECURITY } });
    expect(response.body.settings.security).toEqual({ passwordMinLength: 20 });
  });
});
