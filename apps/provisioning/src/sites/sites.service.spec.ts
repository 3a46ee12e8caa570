import { randomUUID } from 'node:crypto';
import { PROVISIONING_SITES_EXISTING, PROVISIONING_SITES_GET } from '@rmm/contracts';
import { actingUser } from '../../test/acting-callers.js';
import { insertDevice } from '../../test/device-rows.js';
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
  });
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
    expect(event).toMatchObject({
      orgId,
      partnerId,
      aggregateVersion: 1,
      data: { siteId: response.body.id, name: 'North' },
    });
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
    const caller = actingUser(partnerId);
    const { site } = await testApp.call(PROVISIONING_SITES_GET, { caller, orgId, siteId });
    expect(site).toMatchObject({ siteId, orgId, partnerId, name: 'Head Office', deleted: false });
    const asked = { caller, orgId: foreign.orgId, siteId };
    expect(await testApp.call(PROVISIONING_SITES_GET, asked)).toEqual({ site: null });
    expect(await testApp.call(PROVISIONING_SITES_EXISTING, { caller, orgId, siteIds: [siteId] })).toEqual({
      siteIds: [siteId],
    });
  });

  it('shows other services no site that the caller they act for may not see', async () => {
    for (const caller of [
      actingUser(randomUUID()),
      actingUser(partnerId, { orgAccess: 'selected', orgIds: [randomUUID()] }),
      actingUser(partnerId, { orgAccess: 'none' }),
      actingUser(partnerId, { scope: 'organization', orgId: randomUUID() }),
    ]) {
      expect(await testApp.call(PROVISIONING_SITES_GET, { caller, orgId, siteId })).toEqual({ site: null });
      expect(await testApp.call(PROVISIONING_SITES_EXISTING, { caller, orgId, siteIds: [siteId] })).toEqual({
        siteIds: [],
      });
    }
    await expect(testApp.call(PROVISIONING_SITES_GET, { orgId, siteId } as never)).rejects.toThrow('validation_failed');
  });

  describe('changes', () => {
    let own: string;
    let client: Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

    beforeEach(async () => {
      client = await testApp.clientFor({ partnerId });
      own = (await client.post('/orgs/sites', { orgId, name: `Site ${randomUUID()}` })).body.id;
    });

    it('merges the fields of a patch and publishes them', async () => {
      await client.patch(`/orgs/sites/${own}`, {
        address: { line1: 'Main Street 1', city: 'Berlin' },
        settings: { a: 1, b: 2 },
        contractStart: '2026-01-01',
        billingContact: { name: 'Bill', email: 'bill@acme.example' },
      });
      const patched = await client.patch(`/orgs/sites/${own}`, {
        name: ' Renamed ',
        timezone: 'Europe/Vienna',
        address: { line1: null, line2: 'Floor 2' },
        settings: { b: null, c: 3 },
        contractEnd: '2026-12-31',
        billingContact: { name: null },
      });
      expect(patched.status).toBe(200);
      expect(patched.body).toMatchObject({
        name: 'Renamed',
        timezone: 'Europe/Vienna',
        address: { line1: null, line2: 'Floor 2', city: 'Berlin' },
        contact: null,
      });
      expect(patched.body.settings).toEqual({
        a: 1,
        c: 3,
        contract: {
          contractStart: '2026-01-01T00:00:00.000Z',
          contractEnd: '2026-12-31T00:00:00.000Z',
          billingContact: { email: 'bill@acme.example' },
        },
      });
      const cleared = { contractStart: null, contractEnd: null, billingContact: null, address: null };
      expect((await client.patch(`/orgs/sites/${own}`, cleared)).body).toMatchObject({
        settings: { a: 1, c: 3 },
        address: null,
      });
      const event = await testApp.waitForMessage(
        'site.updated',
        ({ aggregateId, aggregateVersion }) => aggregateId === own && aggregateVersion === 4,
      );
      expect(event.data).toMatchObject({ siteId: own, name: 'Renamed' });
      await testApp.waitForMessage('site.update', ({ aggregateId }) => aggregateId === own);
      await client.delete(`/orgs/sites/${own}`);
    });

    it('keeps the contract of a new site in its settings', async () => {
      const created = await client.post('/orgs/sites', { orgId, name: randomUUID(), contractEnd: '2027-01-01' });
      expect(created.body.settings).toEqual({ contract: { contractEnd: '2027-01-01T00:00:00.000Z' } });
      const reversed = await client.patch(`/orgs/sites/${created.body.id}`, { contractStart: '2028-01-01' });
      expect(Object.keys(reversed.body.details.fieldErrors)).toEqual(['contractEnd']);
    });

    it('returns 409 for a taken name, of which 20 parallel renames get one', async () => {
      const names = Array.from({ length: 20 }, () => randomUUID());
      const ids = await Promise.all(
        names.map(async (name) => (await client.post('/orgs/sites', { orgId, name })).body.id as string),
      );
      const responses = await Promise.all(ids.map((id) => client.patch(`/orgs/sites/${id}`, { name: 'The one' })));
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(responses.filter(({ body }) => body.code === 'site_name_conflict')).toHaveLength(19);
    });

    it('changes and deletes the site for its entity tag only', async () => {
      const path = `/orgs/sites/${own}`;
      const read = await client.get(path);
      const { etag } = read.headers as { etag: string };
      expect([read.status, etag, read.headers['cache-control']]).toEqual([
        200,
        expect.stringMatching(/^"[\w-]+\.[\w-]+"$/),
        'private, no-cache',
      ]);
      const unchanged = await client.get(path).set('If-None-Match', etag);
      expect([unchanged.status, unchanged.text, unchanged.headers['etag']]).toEqual([304, '', etag]);
      const patched = await client.patch(path, { timezone: 'Europe/Berlin' }).set('If-Match', `"x.y", ${etag}`);
      expect([patched.status, (await client.get(path)).headers['etag']]).toEqual([200, patched.headers['etag']]);
      for (const stale of [etag, '"x.y"', `W/${patched.headers['etag']}`]) {
        const refused = await client.patch(path, { timezone: 'UTC' }).set('If-Match', stale);
        expect([refused.status, refused.body.code]).toEqual([412, 'precondition_failed']);
        expect((await client.delete(path).set('If-Match', stale)).status).toBe(412);
      }
      expect((await client.get(path)).body).toEqual(patched.body);
      expect((await client.patch(path, { timezone: 'UTC' }).set('If-Match', '*')).status).toBe(200);
      expect((await client.delete(path).set('If-Match', '*')).status).toBe(200);
      expect((await client.delete(path).set('If-Match', '*')).status).toBe(404);
    });

    it('has the same entity tag for a change while its devices are counted again, but not for a read', async () => {
      const path = `/orgs/sites/${own}`;
      const { etag } = (await client.get(path)).headers as { etag: string };
      await insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, site_id: own });
      const read = await client.get(path).set('If-None-Match', etag);
      expect([read.status, read.body.deviceCount]).toEqual([200, 1]);
      expect((await client.patch(path, { timezone: 'UTC' }).set('If-Match', etag)).status).toBe(200);
    });

    it('changes the site once for 20 parallel requests with one entity tag', async () => {
      const path = `/orgs/sites/${own}`;
      const { etag } = (await client.get(path)).headers as { etag: string };
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, n) => client.patch(path, { name: `${own} ${n}` }).set('If-Match', etag)),
      );
      expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
      const stored = responses.find(({ status }) => status === 200)?.body;
      expect((await client.get(path)).body).toEqual(stored);
    });

    it('returns 400 for a malformed If-Match, and 403 and 404 before 412', async () => {
      const path = `/orgs/sites/${own}`;
      const malformed = await client.patch(path, { timezone: 'UTC' }).set('If-Match', 'x');
      expect([malformed.status, malformed.body.code]).toEqual([400, 'invalid_if_match']);
      const other = await client.get(`/orgs/sites/${siteId}`);
      const ofAnother = await client.patch(path, { timezone: 'UTC' }).set('If-Match', other.headers['etag'] ?? '');
      expect(ofAnother.status).toBe(412);
      const foreignSite = await client.patch(`/orgs/sites/${foreign.siteId}`, { name: 'x' }).set('If-Match', '"x.y"');
      expect(foreignSite.status).toBe(404);
      const restricted = await testApp.clientFor({ scope: 'organization', partnerId, orgId, siteIds: [siteId] });
      const refused = await restricted.patch(path, { name: 'x' }).set('If-Match', '"x.y"');
      expect([refused.status, refused.body.code]).toEqual([403, 'site_access_denied']);
    });

    it('deletes a site without devices, with its device groups, and frees its name', async () => {
      const { name } = (await client.get(`/orgs/sites/${own}`)).body;
      const group = (await client.post('/orgs/device-groups', { orgId, siteId: own, name: randomUUID() })).body.id;
      const deviceId = await insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, site_id: own });
      const refused = await client.delete(`/orgs/sites/${own}`);
      expect([refused.status, refused.body.code]).toEqual([409, 'site_not_empty']);
      await client.delete(`/devices/${deviceId}`);
      const removed = await client.delete(`/orgs/sites/${own}`);
      expect([removed.status, removed.body]).toEqual([200, { success: true }]);
      expect((await client.get(`/orgs/sites/${own}`)).status).toBe(404);
      expect((await client.get(`/orgs/device-groups/${group}`)).status).toBe(404);
      const event = await testApp.waitForMessage('site.deleted', ({ aggregateId }) => aggregateId === own);
      expect(event.data).toMatchObject({ siteId: own, orgId, partnerId, deleted: true });
      const entry = await testApp.waitForMessage('site.delete', ({ aggregateId }) => aggregateId === own);
      expect(entry.data).toMatchObject({ details: { deviceGroups: 1 } });
      expect((await client.post('/orgs/sites', { orgId, name })).status).toBe(201);
    });

    it('never has devices once it is deleted, whatever enrolls in parallel', async () => {
      const enroll = (n: number) => {
        const enrollmentKey = testApp.credentials.mint({ orgId, partnerId, siteId: own });
        const device = { hostname: `pc-${n}`, osType: 'linux', osVersion: '6', architecture: 'amd64' };
        return testApp.client().post('/agents/enroll', { enrollmentKey, ...device });
      };
      const enrollments = Array.from({ length: 8 }, (_, n) => enroll(n));
      const [removed, ...enrolled] = await Promise.all([client.delete(`/orgs/sites/${own}`), ...enrollments]);
      const created = enrolled.filter(({ status }) => status === 201).length;
      const { rows } = await testApp.admin.query('SELECT count(*)::int AS n FROM device WHERE site_id = $1', [own]);
      expect(rows[0].n).toBe(created);
      expect(removed.status).toBe(created === 0 ? 200 : 409);
    });

    it('deletes once under 20 parallel requests', async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => client.delete(`/orgs/sites/${own}`)));
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(responses.filter(({ status }) => status === 404)).toHaveLength(19);
    });

    it('returns 403 without the permission and outside of the sites of the caller', async () => {
      const writer = await testApp.clientFor({ partnerId, permissions: ['sites:write'] });
      const remover = await testApp.clientFor({ partnerId, permissions: ['sites:delete'] });
      expect((await writer.delete(`/orgs/sites/${own}`)).body.required).toEqual(['sites:delete']);
      expect((await remover.patch(`/orgs/sites/${own}`, { name: 'x' })).body.required).toEqual(['sites:write']);
      const organization = { scope: 'organization', partnerId, orgId } as const;
      const restricted = await testApp.clientFor({ ...organization, siteIds: [siteId] });
      const grouped = await testApp.clientFor({ ...organization, deviceGroupIds: [randomUUID()] });
      for (const response of [
        await restricted.patch(`/orgs/sites/${own}`, { name: 'x' }),
        await restricted.delete(`/orgs/sites/${own}`),
        await restricted.delete(`/orgs/sites/${siteId}`),
        await grouped.patch(`/orgs/sites/${own}`, { name: 'x' }),
      ]) {
        expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
      }
      expect((await restricted.patch(`/orgs/sites/${siteId}`, { timezone: 'UTC' })).status).toBe(200);
    });

    it('returns 404 for the site of another tenant and 400 for a malformed body', async () => {
      for (const id of [foreign.siteId, randomUUID(), 'x']) {
        expect((await client.patch(`/orgs/sites/${id}`, { name: 'x' })).status).toBe(404);
        expect((await client.delete(`/orgs/sites/${id}`)).status).toBe(404);
      }
      for (const body of [
        {},
        { name: null },
        { name: '' },
        { timezone: 'Mars/Olympus' },
        { orgId },
        { settings: { contract: {} } },
        { settings: { big: 'x'.repeat(65_536) } },
        { contractStart: 'yesterday' },
      ]) {
        expect((await client.patch(`/orgs/sites/${own}`, body)).status).toBe(400);
      }
    });
  });

  it('lists by name and by cursor', async () => {
    const client = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    const own = (await client.post('/orgs/organizations', { name: 'Sorted' })).body.id;
    for (const name of ['beta', 'Alpha', 'gamma']) await client.post('/orgs/sites', { orgId: own, name });
    const names = async (query: string) => {
      const { body } = await client.get(`/orgs/sites?${query}`);
      return body.data.map(({ name }: { name: string }) => name);
    };
    expect(await names('sort=name')).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await names('sort=name&order=desc')).toEqual(['gamma', 'beta', 'Alpha']);
    expect(await names('sort=created&order=asc')).toEqual(['beta', 'Alpha', 'gamma']);
    const first = (await client.get('/orgs/sites?sort=name&limit=2&cursor=')).body;
    expect(first.pagination).toEqual({
      nextCursor: expect.any(String),
      limit: 2,
      sort: { by: 'name', dir: 'asc' },
    });
    const next = encodeURIComponent(first.pagination.nextCursor);
    expect(await names(`sort=name&limit=2&cursor=${next}`)).toEqual(['gamma']);
    for (const misuse of [`sort=created&cursor=${next}`, `sort=name&search=a&cursor=${next}`, 'cursor=x']) {
      expect((await client.get(`/orgs/sites?${misuse}`)).body.code).toBe('invalid_cursor');
    }
    const admin = await testApp.clientFor({ scope: 'system' });
    expect(Object.keys((await admin.get('/orgs/sites?sort=name')).body.details.fieldErrors)).toEqual(['sort']);
    expect((await admin.get(`/orgs/sites?sort=name&orgId=${own}`)).status).toBe(200);
  });

  it.each(['siteIds', 'status'])('returns 400 for %s, which the list does not serve', async (name) => {
    const client = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    const { status, body } = await client.get(`/orgs/sites?${name}=x`);
    expect([status, Object.keys(body.details.fieldErrors)]).toEqual([400, [name]]);
  });
});
