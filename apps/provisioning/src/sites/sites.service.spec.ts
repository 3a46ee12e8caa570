import { randomUUID } from 'node:crypto';
import { PROVISIONING_SITES_GET } from '@rmm/contracts';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

describe('/orgs/sites', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteId: string;
  let foreign: { orgId: string; siteId: string };

  const createSite = async (partner: string) => {
    const client = await testApp.clientFor({ partnerId: partner });
    const organization = await client.post('/orgs/organizations', { name: 'Acme' });
    const site = await client.post('/orgs/sites', { orgId: organization.body.id, name: 'Head Office' });
    return { orgId: organization.body.id as string, siteId: site.body.id as string };
  };

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    ({ orgId, siteId } = await createSite(partnerId));
    foreign = await createSite(await testApp.createPartner());
  }, 60_000);
  afterAll(() => testApp?.stop());

  it('creates the row and publishes its integration event and audit entry', async () => {
    const client = await testApp.clientFor({ partnerId });
    const response = await client.post('/orgs/sites', {
      orgId: foreign.orgId,
      organizationId: orgId,
      name: 'North',
      timezone: 'Europe/Berlin',
      address: { line1: 'Main Street 1', city: 'Berlin' },
      contact: { email: 'North@Acme.Example' },
    });
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({
      orgId,
      name: 'North',
      timezone: 'Europe/Berlin',
      address: { line1: 'Main Street 1', line2: null, city: 'Berlin', region: null, postalCode: null, country: null },
      contact: { name: null, email: 'north@acme.example', phone: null },
      settings: {},
      deviceCount: 0,
    });
    const event = await testApp.waitForMessage('site.created', (envelope) => envelope.aggregateId === response.body.id);
    expect(event.data).toMatchObject({ siteId: response.body.id, orgId, partnerId, name: 'North', version: 1 });
    await testApp.waitForMessage('site.create', (envelope) => envelope.aggregateId === response.body.id);
    expect((await client.get(`/orgs/sites/${response.body.id}`)).body).toEqual(response.body);
  });

  it('returns 409 for a name that differs in case only', async () => {
    const client = await testApp.clientFor({ partnerId });
    const again = await client.post('/orgs/sites', { orgId, name: 'HEAD office' });
    expect([again.status, again.body.code]).toEqual([409, 'site_name_conflict']);
  });

  it('restricts an organization caller to its organization', async () => {
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId });
    expect((await member.post('/orgs/sites', { name: 'Of a member' })).body.orgId).toBe(orgId);
    const denied = await member.post('/orgs/sites', { orgId: foreign.orgId, name: 'x' });
    expect([denied.status, denied.body.code]).toEqual([403, 'organization_access_denied']);
  });

  it('lists and counts the sites of a restricted member and returns 403 for others', async () => {
    const other = await (await testApp.clientFor({ partnerId })).post('/orgs/sites', { orgId, name: 'Closed' });
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId, siteIds: [siteId] });
    const list = await member.get('/orgs/sites');
    expect(list.body.data.map((row: { id: string }) => row.id)).toEqual([siteId]);
    expect(list.body.pagination.total).toBe(1);
    expect((await member.get(`/orgs/sites/${siteId}`)).status).toBe(200);
    const denied = await member.get(`/orgs/sites/${other.body.id}`);
    expect([denied.status, denied.body.code]).toEqual([403, 'site_access_denied']);
    expect((await member.post('/orgs/sites', { name: 'x' })).status).toBe(403);
    const withoutSites = await testApp.clientFor({ scope: 'organization', partnerId, orgId, siteIds: [] });
    expect((await withoutSites.get('/orgs/sites')).body.pagination.total).toBe(0);
  });

  it('returns 403 without the permission', async () => {
    const reader = await testApp.clientFor({ partnerId, permissions: ['sites:read'] });
    expect((await reader.post('/orgs/sites', { orgId, name: 'x' })).body.required).toEqual(['sites:write']);
    const blind = await testApp.clientFor({ partnerId, permissions: ['organizations:read'] });
    expect((await blind.get('/orgs/sites')).status).toBe(403);
    expect((await blind.get(`/orgs/sites/${siteId}`)).status).toBe(403);
  });

  it('returns 404 for the site of another tenant and 403 for its organization', async () => {
    const client = await testApp.clientFor({ partnerId });
    for (const id of [foreign.siteId, randomUUID(), 'no-id']) {
      expect((await client.get(`/orgs/sites/${id}`)).body).toMatchObject({
        code: 'not_found',
        error: 'Site not found',
      });
    }
    for (const named of [foreign.orgId, randomUUID()]) {
      const list = await client.get(`/orgs/sites?orgId=${named}`);
      expect([list.status, list.body.code]).toEqual([403, 'organization_access_denied']);
      expect((await client.post('/orgs/sites', { orgId: named, name: 'x' })).status).toBe(403);
    }
  });

  it('returns 400 for malformed bodies', async () => {
    const client = await testApp.clientFor({ partnerId });
    const refused = await client.post('/orgs/sites', {
      orgId,
      name: '',
      timezone: 'Mars/Olympus',
      contact: { email: 'x' },
    });
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.details.fieldErrors).sort()).toEqual(['contact.email', 'name', 'timezone']);
    const unnamed = await client.post('/orgs/sites', { name: 'x' });
    expect([unnamed.status, Object.keys(unnamed.body.details.fieldErrors)]).toEqual([400, ['orgId']]);
  });

  it('returns to other services which sites an organization has', async () => {
    const { site } = await testApp.call(PROVISIONING_SITES_GET, { orgId, siteId });
    expect(site).toMatchObject({ siteId, orgId, partnerId, name: 'Head Office', deleted: false });
    expect(await testApp.call(PROVISIONING_SITES_GET, { orgId: foreign.orgId, siteId })).toEqual({ site: null });
  });

  it.each(['siteIds', 'status', 'sort', 'cursor'])(
    'returns 400 for %s, which the list does not serve',
    async (name) => {
      const client = await testApp.clientFor({ partnerId: await testApp.createPartner() });
      const { status, body } = await client.get(`/orgs/sites?${name}=x`);
      expect([status, Object.keys(body.details.fieldErrors)]).toEqual([400, [name]]);
    },
  );
});
