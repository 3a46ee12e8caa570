import { randomUUID } from 'node:crypto';
import { PROVISIONING_SITES_GET } from '@rmm/contracts';
import { ProvisioningUnderTest } from '../../test/provisioning-under-test.js';

describe('/orgs/sites', () => {
  let service: ProvisioningUnderTest;
  let partnerId: string;
  let orgId: string;
  let siteId: string;
  let foreign: { orgId: string; siteId: string };

  const made = async (partner: string) => {
    const client = await service.as({ partnerId: partner });
    const organization = await client.post('/orgs/organizations', { name: 'Acme' });
    const site = await client.post('/orgs/sites', { orgId: organization.body.id, name: 'Head Office' });
    return { orgId: organization.body.id as string, siteId: site.body.id as string };
  };

  beforeAll(async () => {
    service = await ProvisioningUnderTest.start();
    partnerId = await service.partner();
    ({ orgId, siteId } = await made(partnerId));
    foreign = await made(await service.partner());
  }, 60_000);
  afterAll(() => service?.stop());

  it('creates: the row, its fact and its audit row', async () => {
    const client = await service.as({ partnerId });
    const answer = await client.post('/orgs/sites', {
      orgId: foreign.orgId,
      organizationId: orgId,
      name: 'North',
      timezone: 'Europe/Berlin',
      address: { line1: 'Main Street 1', city: 'Berlin' },
      contact: { email: 'North@Acme.Example' },
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      orgId,
      name: 'North',
      timezone: 'Europe/Berlin',
      address: { line1: 'Main Street 1', line2: null, city: 'Berlin', region: null, postalCode: null, country: null },
      contact: { name: null, email: 'north@acme.example', phone: null },
      settings: {},
      deviceCount: 0,
    });
    const fact = await service.hears('site.created', (envelope) => envelope.aggregateId === answer.body.id);
    expect(fact.data).toMatchObject({ siteId: answer.body.id, orgId, partnerId, name: 'North', version: 1 });
    await service.hears('site.create', (envelope) => envelope.aggregateId === answer.body.id);
    expect((await client.get(`/orgs/sites/${answer.body.id}`)).body).toEqual(answer.body);
  });

  it('keeps names apart within an organization, ignoring case', async () => {
    const client = await service.as({ partnerId });
    const again = await client.post('/orgs/sites', { orgId, name: 'HEAD office' });
    expect([again.status, again.body.code]).toEqual([409, 'site_name_conflict']);
  });

  it('pins an organization caller to its organization', async () => {
    const member = await service.as({ scope: 'organization', partnerId, orgId });
    expect((await member.post('/orgs/sites', { name: 'Of a member' })).body.orgId).toBe(orgId);
    const denied = await member.post('/orgs/sites', { orgId: foreign.orgId, name: 'x' });
    expect([denied.status, denied.body.code]).toEqual([403, 'organization_access_denied']);
  });

  it('confines a site-restricted member: lists and counts what it has, refuses what it names', async () => {
    const other = await (await service.as({ partnerId })).post('/orgs/sites', { orgId, name: 'Closed' });
    const member = await service.as({ scope: 'organization', partnerId, orgId, siteIds: [siteId] });
    const list = await member.get('/orgs/sites');
    expect(list.body.data.map((row: { id: string }) => row.id)).toEqual([siteId]);
    expect(list.body.pagination.total).toBe(1);
    expect((await member.get(`/orgs/sites/${siteId}`)).status).toBe(200);
    const denied = await member.get(`/orgs/sites/${other.body.id}`);
    expect([denied.status, denied.body.code]).toEqual([403, 'site_access_denied']);
    expect((await member.post('/orgs/sites', { name: 'x' })).status).toBe(403);
    const nobody = await service.as({ scope: 'organization', partnerId, orgId, siteIds: [] });
    expect((await nobody.get('/orgs/sites')).body.pagination.total).toBe(0);
  });

  it('refuses those without the permission', async () => {
    const reader = await service.as({ partnerId, permissions: ['sites:read'] });
    expect((await reader.post('/orgs/sites', { orgId, name: 'x' })).body.required).toEqual(['sites:write']);
    const blind = await service.as({ partnerId, permissions: ['organizations:read'] });
    expect((await blind.get('/orgs/sites')).status).toBe(403);
    expect((await blind.get(`/orgs/sites/${siteId}`)).status).toBe(403);
  });

  it("does not know another tenant's site, and denies its organization where it is named", async () => {
    const client = await service.as({ partnerId });
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

  it('refuses malformed bodies', async () => {
    const client = await service.as({ partnerId });
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

  it('tells other services whether a site stands in an organization', async () => {
    const { site } = await service.ask(PROVISIONING_SITES_GET, { orgId, siteId });
    expect(site).toMatchObject({ siteId, orgId, partnerId, name: 'Head Office', deleted: false });
    expect(await service.ask(PROVISIONING_SITES_GET, { orgId: foreign.orgId, siteId })).toEqual({ site: null });
  });
});
