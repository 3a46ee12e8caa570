import { randomUUID } from 'node:crypto';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

describe('/orgs/organizations', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let foreignId: string;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    const other = await testApp.createPartner();
    const created = await (await testApp.clientFor({ partnerId })).post('/orgs/organizations', { name: 'Acme' });
    orgId = created.body.id;
    foreignId = (await (await testApp.clientFor({ partnerId: other })).post('/orgs/organizations', { name: 'Foreign' }))
      .body.id;
  });
  afterAll(() => testApp?.stop());

  it('creates the row and publishes its integration event and audit entry', async () => {
    const client = await testApp.clientFor({ partnerId });
    const response = await client.post('/orgs/organizations', {
      name: '  Beta  GmbH ',
      type: 'internal',
      contractStart: '2026-01-01',
      billingContact: { name: 'Bill', email: 'Bill@Beta.Example' },
    });
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({
      partnerId,
      name: 'Beta  GmbH',
      slug: 'beta-gmbh',
      type: 'internal',
      status: 'active',
      settings: {},
      contractStart: '2026-01-01T00:00:00.000Z',
      contractEnd: null,
      billingContact: { name: 'Bill', email: 'bill@beta.example', phone: null },
      externalLinks: [],
      deviceCount: 0,
    });
    const ours = (envelope: { orgId: string | null }) => envelope.orgId === response.body.id;
    expect((await testApp.waitForMessage('organization.created', ours)).data).toEqual({
      orgId: response.body.id,
      partnerId,
      name: 'Beta  GmbH',
      slug: 'beta-gmbh',
      status: 'active',
      deleted: false,
      version: 1,
    });
    expect((await testApp.waitForMessage('organization.create', ours)).data).toMatchObject({
      action: 'organization.create',
      resourceId: response.body.id,
      result: 'success',
    });
  });

  it('refuses an organization of a partner that identity does not have', async () => {
    const client = await testApp.clientFor({ partnerId: randomUUID() });
    const response = await client.post('/orgs/organizations', { name: 'Ghost' });
    expect([response.status, response.body.code]).toEqual([403, 'partner_access_denied']);
  });

  it('changes, deletes and restores an organization by its entity tag', async () => {
    const client = await testApp.clientFor({ partnerId });
    const created = await client.post('/orgs/organizations', { name: 'Tagged' });
    const path = `/orgs/organizations/${created.body.id}`;
    const { etag } = (await client.get(path)).headers as { etag: string };
    expect(created.headers['etag']).toBe(etag);
    expect((await client.get(path).set('If-None-Match', etag)).status).toBe(304);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => client.patch(path, { name: `Tagged ${n}` }).set('If-Match', etag)),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    expect((await client.delete(path).set('If-Match', etag)).body.code).toBe('precondition_failed');
    const current = responses.find(({ status }) => status === 200)?.headers['etag'] ?? '';
    expect((await client.delete(path).set('If-Match', current)).status).toBe(200);
    const restored = await client.post(`${path}/restore`);
    expect(restored.headers['etag']).toBe((await client.get(path)).headers['etag']);
    const foreign = `/orgs/organizations/${foreignId}`;
    expect((await client.patch(foreign, { name: 'x' }).set('If-Match', current)).status).toBe(404);
    expect((await client.delete(foreign).set('If-Match', current)).status).toBe(404);
    expect((await client.patch(path, { name: 'x' }).set('If-Match', '')).body.code).toBe('invalid_if_match');
  });

  it('refuses settings above 64 KB after the merge', async () => {
    const client = await testApp.clientFor({ partnerId });
    const own = (await client.post('/orgs/organizations', { name: 'Grower' })).body.id as string;
    const grow = (key: string) =>
      client.patch(`/orgs/organizations/${own}`, { settings: { [key]: 'x'.repeat(30_000) } });
    expect([(await grow('a')).status, (await grow('b')).status]).toEqual([200, 200]);
    const refused = await grow('c');
    expect([refused.status, Object.keys(refused.body.details.fieldErrors)]).toEqual([400, ['settings']]);
  });

  it('numbers a slug derived from the name and returns 409 for a chosen one that is taken', async () => {
    const client = await testApp.clientFor({ partnerId });
    expect((await client.post('/orgs/organizations', { name: 'ACME' })).body.slug).toBe('acme-2');
    const taken = await client.post('/orgs/organizations', { name: 'Other', slug: 'acme' });
    expect([taken.status, taken.body.code]).toEqual([409, 'organization_slug_conflict']);
    const elsewhere = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    expect((await elsewhere.post('/orgs/organizations', { name: 'Acme', slug: 'acme' })).status).toBe(201);
  });

  it('lists accessible organizations newest first, filtered and counted', async () => {
    const partnerOfList = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId: partnerOfList });
    for (const name of ['One', 'Two 100%', 'Three']) await client.post('/orgs/organizations', { name });
    const page = await client.get('/orgs/organizations?limit=2');
    expect(page.body.data.map((row: { name: string }) => row.name)).toEqual(['Three', 'Two 100%']);
    expect(page.body.pagination).toEqual({ page: 1, limit: 2, total: 3 });
    expect((await client.get('/orgs/organizations?page=9')).body).toMatchObject({ data: [], pagination: { total: 3 } });
    const found = await client.get('/orgs/organizations?search=0%25');
    expect(found.body.data.map((row: { name: string }) => row.name)).toEqual(['Two 100%']);
    const one = (await client.get('/orgs/organizations?search=one')).body.data[0];
    const selected = await testApp.clientFor({ partnerId: partnerOfList, orgAccess: 'selected', orgIds: [one.id] });
    expect((await selected.get('/orgs/organizations')).body.pagination.total).toBe(1);
    const withoutAccess = await testApp.clientFor({ partnerId: partnerOfList, orgAccess: 'none' });
    expect((await withoutAccess.get('/orgs/organizations')).body).toMatchObject({ data: [], pagination: { total: 0 } });
  });

  it('updates fields, merges settings per key and raises the version', async () => {
    const client = await testApp.clientFor({ partnerId });
    const { id } = (await client.post('/orgs/organizations', { name: 'Gamma', settings: { a: 1, b: 2 } })).body;
    const patched = await client.patch(`/orgs/organizations/${id}`, {
      name: 'Gamma 2',
      status: 'suspended',
      settings: { b: null, c: 3 },
    });
    expect(patched.status).toBe(200);
    expect(patched.body).toMatchObject({ name: 'Gamma 2', status: 'suspended', settings: { a: 1, c: 3 } });
    expect(Object.keys(patched.body.settings)).toEqual(['a', 'c']);
    const event = await testApp.waitForMessage('organization.updated', (envelope) => envelope.orgId === id);
    expect(event.data).toMatchObject({ status: 'suspended', version: 2 });
    await testApp.waitForMessage('organization.update', (envelope) => envelope.orgId === id);
  });

  it('shows an organization caller its own organization and lets it change settings only', async () => {
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId });
    const own = await member.get(`/orgs/organizations/${orgId}`);
    expect(own.body).toEqual({ id: orgId, name: 'Acme', slug: 'acme', status: 'active', settings: {} });
    expect((await member.get('/orgs/organizations')).body.data).toEqual([own.body]);
    expect((await member.patch(`/orgs/organizations/${orgId}`, { settings: { theme: 'dark' } })).status).toBe(200);
    const named = await member.patch(`/orgs/organizations/${orgId}`, { name: 'Mine' });
    expect([named.status, named.body.code]).toEqual([403, 'scope_not_allowed']);
    const created = await member.post('/orgs/organizations', { name: 'New' });
    expect([created.status, created.body.code]).toEqual([403, 'scope_not_allowed']);
  });

  it('returns 403 with the missing permission', async () => {
    const reader = await testApp.clientFor({ partnerId, permissions: ['organizations:read'] });
    for (const refused of [
      await reader.post('/orgs/organizations', { name: 'x' }),
      await reader.patch(`/orgs/organizations/${orgId}`, { name: 'x' }),
    ]) {
      expect(refused.status).toBe(403);
      expect(refused.body).toMatchObject({ code: 'permission_denied', required: ['organizations:write'] });
    }
    const blind = await testApp.clientFor({ partnerId, permissions: ['devices:read'] });
    expect((await blind.get('/orgs/organizations')).status).toBe(403);
    expect((await blind.get(`/orgs/organizations/${orgId}`)).status).toBe(403);
    const selected = await testApp.clientFor({ partnerId, orgAccess: 'selected', orgIds: [orgId] });
    const refused = await selected.post('/orgs/organizations', { name: 'x' });
    expect([refused.status, refused.body.code]).toEqual([403, 'full_partner_access_required']);
    expect((await testApp.client().get('/orgs/organizations')).status).toBe(401);
  });

  it('returns 404 for a foreign, an unknown and a malformed id', async () => {
    const client = await testApp.clientFor({ partnerId });
    const [foreign, unknown, malformed] = [
      await client.get(`/orgs/organizations/${foreignId}`),
      await client.get(`/orgs/organizations/${randomUUID()}`),
      await client.get('/orgs/organizations/not-an-id'),
    ];
    for (const response of [foreign, unknown, malformed]) {
      expect(response.status).toBe(404);
      expect(response.body).toMatchObject({ code: 'not_found', error: 'Organization not found' });
    }
    expect((await client.patch(`/orgs/organizations/${foreignId}`, { name: 'Mine' })).status).toBe(404);
    const named = await client.get(`/orgs/organizations?partnerId=${randomUUID()}`);
    expect([named.status, named.body.code]).toEqual([403, 'partner_access_denied']);
  });

  it('returns 400 with every malformed field', async () => {
    const client = await testApp.clientFor({ partnerId });
    const refused = await client.post('/orgs/organizations', { name: ' ', slug: 'No Slug', color: 'red' });
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.details.fieldErrors).sort()).toEqual(['color', 'name', 'slug']);
    expect((await client.patch(`/orgs/organizations/${orgId}`, {})).body).toMatchObject({
      code: 'validation_failed',
      details: { fieldErrors: { body: ['names no field to change'] } },
    });
    expect((await client.get('/orgs/organizations?limit=101')).status).toBe(400);
    expect((await client.get('/orgs/organizations?status=gone')).status).toBe(400);
  });

  it('returns 400 for a contract that ends before it starts, also with the stored date', async () => {
    const client = await testApp.clientFor({ partnerId });
    const period = { contractStart: '2026-02-01', contractEnd: '2026-01-31' };
    const created = await client.post('/orgs/organizations', { name: 'Backwards', ...period });
    expect([created.status, created.body.details?.fieldErrors]).toEqual([
      400,
      { contractEnd: ['must not be before contractStart'] },
    ]);
    const { body } = await client.post('/orgs/organizations', { name: 'Forwards', contractStart: '2026-02-01' });
    const path = `/orgs/organizations/${body.id}`;
    expect((await client.patch(path, { contractEnd: '2026-01-31' })).body.code).toBe('validation_failed');
    expect((await client.patch(path, { contractEnd: '2026-02-01' })).status).toBe(200);
    expect((await client.patch(path, { contractStart: '2026-02-02' })).body.code).toBe('validation_failed');
    expect((await client.patch(path, { contractStart: null })).status).toBe(200);
  });

  it('enforces the cap for concurrent requests', async () => {
    const capped = await testApp.createPartner({ maxOrganizations: 3 });
    const client = await testApp.clientFor({ partnerId: capped });
    const names = Array.from({ length: 10 }, (_, index) => `Organization ${index}`);
    const responses = await Promise.all(names.map((name) => client.post('/orgs/organizations', { name })));
    expect(responses.filter((response) => response.status === 201)).toHaveLength(3);
    for (const refused of responses.filter((response) => response.status !== 201)) {
      expect([refused.status, refused.body.code]).toEqual([409, 'organization_limit_reached']);
    }
  });

  it('lets a system caller act for the partner it names only', async () => {
    const admin = await testApp.clientFor({ scope: 'system' });
    const created = await admin.post('/orgs/organizations', { partnerId, name: 'By the platform' });
    expect([created.status, created.body.partnerId]).toEqual([201, partnerId]);
    const unnamed = await admin.post('/orgs/organizations', { name: 'x' });
    expect([unnamed.status, Object.keys(unnamed.body.details.fieldErrors)]).toEqual([400, ['partnerId']]);
    expect((await admin.post('/orgs/organizations', { partnerId: randomUUID(), name: 'x' })).status).toBe(403);
    expect(
      (await admin.get(`/orgs/organizations?partnerId=${partnerId}&limit=1`)).body.pagination.total,
    ).toBeGreaterThan(1);
  });

  it('lists by name and by cursor', async () => {
    const client = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    for (const name of ['beta', 'Alpha', 'gamma']) await client.post('/orgs/organizations', { name });
    const names = async (query: string) => {
      const { body } = await client.get(`/orgs/organizations?${query}`);
      return body.data.map(({ name }: { name: string }) => name);
    };
    expect(await names('sort=name')).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await names('sort=created&order=asc')).toEqual(['beta', 'Alpha', 'gamma']);
    const { pagination } = (await client.get('/orgs/organizations?limit=2&cursor=')).body;
    expect(pagination).toMatchObject({ limit: 2, sort: { by: 'created', dir: 'desc' } });
    const next = encodeURIComponent(pagination.nextCursor);
    expect(await names(`limit=2&cursor=${next}`)).toEqual(['beta']);
    const misused = await client.get(`/orgs/organizations?status=active&cursor=${next}`);
    expect([misused.status, misused.body.code]).toEqual([400, 'invalid_cursor']);
    const admin = await testApp.clientFor({ scope: 'system' });
    expect(Object.keys((await admin.get('/orgs/organizations?sort=name')).body.details.fieldErrors)).toEqual(['sort']);
  });

  it.each(['orgIds', 'type'])('returns 400 for %s, which the list does not serve', async (name) => {
    const client = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    const { status, body } = await client.get(`/orgs/organizations?${name}=x`);
    expect([status, Object.keys(body.details.fieldErrors)]).toEqual([400, [name]]);
  });

  it('limits the merged settings to 64 KB and cuts a page of large ones', async () => {
    const client = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push((await client.post('/orgs/organizations', { name: `O ${n}` })).body.id);
    const half = 'x'.repeat(40_000);
    for (const id of ids) {
      expect((await client.patch(`/orgs/organizations/${id}`, { settings: { a: half } })).status).toBe(200);
    }
    const refused = await client.patch(`/orgs/organizations/${ids[0]}`, { settings: { b: half } });
    expect([refused.status, Object.keys(refused.body.details.fieldErrors)]).toEqual([400, ['settings']]);
    expect((await client.get('/orgs/organizations')).body.pagination).not.toHaveProperty('truncated');
    const stored = JSON.stringify({ a: 'x'.repeat(64_000) });
    await testApp.admin.query('UPDATE organization SET settings = $2 WHERE id = ANY ($1)', [ids, stored]);
    const page = await client.get('/orgs/organizations');
    expect(page.body.pagination).toEqual({ page: 1, limit: 50, total: 20, truncated: true });
    expect(Buffer.byteLength(JSON.stringify(page.body))).toBeLessThan(1_100_000);
  });
});
