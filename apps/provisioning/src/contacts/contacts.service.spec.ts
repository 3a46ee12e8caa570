import { randomUUID } from 'node:crypto';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { MAX_CONTACTS } from './contacts.service.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

describe('contacts', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteIds: string[];
  let client: Client;
  let stranger: Client;
  let foreign: { orgId: string; contactId: string; siteId: string };

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    const foreignOrg = (await stranger.post('/orgs/organizations', { name: 'Foreign' })).body.id as string;
    foreign = {
      orgId: foreignOrg,
      siteId: (await stranger.post('/orgs/sites', { orgId: foreignOrg, name: 'Theirs' })).body.id,
      contactId: (await stranger.post(`/orgs/organizations/${foreignOrg}/contacts`, { name: 'Theirs' })).body.data.id,
    };
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
  });
  afterAll(() => testApp?.stop());
  beforeEach(async () => {
    orgId = (await client.post('/orgs/organizations', { name: `Acme ${randomUUID()}` })).body.id;
    siteIds = [];
    for (const name of ['A', 'B']) siteIds.push((await client.post('/orgs/sites', { orgId, name })).body.id);
  });

  const path = (id = orgId) => `/orgs/organizations/${id}/contacts`;
  const create = async (body: object = {}, as = client) => {
    const response = await as.post(path(), { name: `Contact ${randomUUID()}`, ...body });
    expect(response.status).toBe(201);
    return response.body.data as { id: string; isPrimary: boolean };
  };
  const idsOf = async (query = '', as = client) => {
    const { body } = await as.get(`${path()}${query}`);
    return (body as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  const member = (restriction: object) =>
    testApp.clientFor({ scope: 'organization', partnerId, orgId, ...restriction });

  it('are created, listed, changed and deleted, with audit entries that have no names', async () => {
    const created = await client.post(path(), {
      siteId: siteIds[0],
      name: ' Kim Berg ',
      email: 'Kim@Acme.Example',
      phone: '+49 30 1',
      mobile: null,
      title: 'CTO',
      roles: ['technical', 'billing', 'technical'],
      notes: 'Call first',
    });
    expect(created.status).toBe(201);
    const { data } = created.body;
    expect(data).toEqual({
      id: expect.any(String),
      orgId,
      siteId: siteIds[0],
      name: 'Kim Berg',
      email: 'kim@acme.example',
      phone: '+49 30 1',
      mobile: null,
      title: 'CTO',
      roles: ['technical', 'billing'],
      isPrimary: false,
      notes: 'Call first',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await client.get(path())).body).toEqual({ data: [data], pagination: { page: 1, limit: 50, total: 1 } });
    const patched = await client.patch(`/orgs/contacts/${data.id}`, { title: null, roles: null, siteId: null });
    expect([patched.status, patched.body.data]).toEqual([
      200,
      { ...data, title: null, roles: [], siteId: null, updatedAt: expect.any(String) },
    ]);
    const removed = await client.delete(`/orgs/contacts/${data.id}`);
    expect([removed.status, removed.body]).toEqual([200, { success: true }]);
    expect((await client.delete(`/orgs/contacts/${data.id}`)).status).toBe(404);
    for (const action of ['contact.create', 'contact.update', 'contact.delete']) {
      const entry = await testApp.waitForMessage(action, ({ aggregateId }) => aggregateId === data.id);
      expect(entry.data).toMatchObject({ resourceType: 'contact', resourceId: data.id, result: 'success' });
      expect(JSON.stringify(entry)).not.toMatch(/kim/i);
    }
  });

  it('need a name, an e-mail address or a number', async () => {
    for (const body of [{}, { title: 'CTO' }, { name: null, phone: null }]) {
      expect((await client.post(path(), body)).body).toMatchObject({ code: 'validation_failed' });
    }
    const { id } = await create({ name: 'Only', email: 'only@acme.example' });
    expect((await client.patch(`/orgs/contacts/${id}`, { name: null })).status).toBe(200);
    const emptied = await client.patch(`/orgs/contacts/${id}`, { email: null });
    expect([emptied.status, Object.keys(emptied.body.details.fieldErrors)]).toEqual([400, ['name']]);
  });

  it.each([
    ['a malformed address', { email: 'nonsense' }],
    ['an unknown role', { roles: ['owner'] }],
    ['roles that are no list', { roles: 'billing' }],
    ['a long name', { name: 'x'.repeat(256) }],
    ['a long number', { phone: '1'.repeat(65) }],
    ['long notes', { notes: 'x'.repeat(4_001) }],
    ['a mark that is no boolean', { isPrimary: 'yes' }],
    ['a mark that is null', { isPrimary: null }],
    ['an unknown field', { unknown: 1 }],
    ['a site that is no id', { siteId: 'none' }],
  ])('refuse %s', async (_, field) => {
    expect((await client.post(path(), { name: 'Kim', ...field })).status).toBe(400);
    const { id } = await create();
    expect((await client.patch(`/orgs/contacts/${id}`, field)).status).toBe(400);
  });

  it('refuse an empty change and a site of another organization', async () => {
    const { id } = await create();
    expect((await client.patch(`/orgs/contacts/${id}`, {})).status).toBe(400);
    for (const siteId of [foreign.siteId, randomUUID()]) {
      expect((await client.post(path(), { name: 'Kim', siteId })).body.details.fieldErrors).toHaveProperty('siteId');
      expect((await client.patch(`/orgs/contacts/${id}`, { siteId })).body.details.fieldErrors).toHaveProperty(
        'siteId',
      );
    }
  });

  it('are filtered by site and role, and sorted by name', async () => {
    const [a, b] = [
      (await create({ name: 'b', siteId: siteIds[0], roles: ['billing'] })).id,
      (await create({ name: 'A', roles: ['technical', 'billing'] })).id,
    ];
    const nameless = (await create({ name: null, phone: '1' })).id;
    expect(await idsOf(`?siteId=${siteIds[0]}`)).toEqual([a]);
    expect(await idsOf('?siteId=none')).toEqual([nameless, b]);
    expect(await idsOf('?role=technical')).toEqual([b]);
    expect(await idsOf('?sort=name')).toEqual([nameless, b, a]);
    const first = (await client.get(`${path()}?sort=name&limit=2&cursor=`)).body;
    expect(await idsOf(`?sort=name&limit=2&cursor=${first.pagination.nextCursor}`)).toEqual([a]);
    for (const query of ['?siteId=x', '?role=owner', '?cursor=x']) {
      expect((await client.get(`${path()}${query}`)).status).toBe(400);
    }
  });

  it('have at most one primary of an organization, also when many become it at once', async () => {
    const contacts = await Promise.all(Array.from({ length: 6 }, () => create()));
    const marks = await Promise.all([
      ...contacts.map(({ id }) => client.patch(`/orgs/contacts/${id}`, { isPrimary: true })),
      client.post(path(), { name: 'New', isPrimary: true }),
    ]);
    expect(marks.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 201]);
    const { data } = (await client.get(path())).body as { data: { isPrimary: boolean }[] };
    expect(data.filter(({ isPrimary }) => isPrimary)).toHaveLength(1);
  });

  it('cannot be read, written or named by another tenant', async () => {
    expect((await client.get(path(foreign.orgId))).status).toBe(404);
    expect((await client.post(path(foreign.orgId), { name: 'Kim' })).status).toBe(404);
    expect((await client.patch(`/orgs/contacts/${foreign.contactId}`, { name: 'Kim' })).status).toBe(404);
    expect((await client.delete(`/orgs/contacts/${foreign.contactId}`)).status).toBe(404);
    const limited = await testApp.clientFor({ partnerId, orgAccess: 'selected', orgIds: [randomUUID()] });
    const { id } = await create();
    expect((await limited.get(path())).status).toBe(404);
    expect((await limited.delete(`/orgs/contacts/${id}`)).status).toBe(404);
    expect((await stranger.get(path(foreign.orgId))).body.data).toHaveLength(1);
  });

  it('are limited to the sites of a restricted member', async () => {
    const restricted = await member({ siteIds: [siteIds[0]] });
    const [own, other, whole] = [
      (await create({ siteId: siteIds[0] })).id,
      (await create({ siteId: siteIds[1] })).id,
      (await create()).id,
    ];
    expect(await idsOf('', restricted)).toEqual([own]);
    for (const site of [siteIds[1], 'none']) {
      expect((await restricted.get(`${path()}?siteId=${site}`)).body).toMatchObject({ code: 'site_access_denied' });
    }
    for (const id of [other, whole]) {
      expect((await restricted.patch(`/orgs/contacts/${id}`, { title: 'x' })).status).toBe(403);
      expect((await restricted.delete(`/orgs/contacts/${id}`)).status).toBe(403);
    }
    expect((await restricted.post(path(), { name: 'Kim' })).status).toBe(403);
    expect((await restricted.patch(`/orgs/contacts/${own}`, { siteId: siteIds[1] })).status).toBe(403);
    expect((await restricted.patch(`/orgs/contacts/${own}`, { title: 'x' })).status).toBe(200);
    expect((await restricted.post(path(), { name: 'Kim', siteId: siteIds[0] })).status).toBe(201);
  });

  it('need permission to read and write, and MFA to write', async () => {
    const reader = await testApp.clientFor({ partnerId, permissions: ['organizations:read'] });
    const withoutMfa = await testApp.clientFor({ partnerId, mfa: false });
    const unrelated = await testApp.clientFor({ partnerId, permissions: ['sites:read'] });
    const { id } = await create();
    expect((await reader.get(path())).status).toBe(200);
    expect((await reader.post(path(), { name: 'Kim' })).body).toMatchObject({ code: 'permission_denied' });
    expect((await unrelated.get(path())).status).toBe(403);
    expect((await withoutMfa.get(path())).status).toBe(200);
    for (const refused of [
      await withoutMfa.post(path(), { name: 'Kim' }),
      await withoutMfa.patch(`/orgs/contacts/${id}`, { title: 'x' }),
      await withoutMfa.delete(`/orgs/contacts/${id}`),
    ]) {
      expect(refused.body).toMatchObject({ code: 'mfa_required' });
    }
  });

  it('of a deleted site belong to the whole organization', async () => {
    const { id } = await create({ siteId: siteIds[1] });
    expect((await client.delete(`/orgs/sites/${siteIds[1]}`)).status).toBe(200);
    expect(await idsOf('?siteId=none')).toEqual([id]);
  });

  it('cannot be accessed while their organization is suspended', async () => {
    const { id } = await create();
    await client.patch(`/orgs/organizations/${orgId}`, { status: 'suspended' });
    expect((await client.get(path())).status).toBe(404);
    expect((await client.patch(`/orgs/contacts/${id}`, { title: 'x' })).status).toBe(404);
  });

  it('are changed and deleted for their entity tag only', async () => {
    const created = await client.post(path(), { name: 'Kim Berg' });
    const contact = `/orgs/contacts/${created.body.data.id}`;
    const etag = created.headers['etag'] ?? '';
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => client.patch(contact, { title: `${n}` }).set('If-Match', etag)),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    const current = responses.find(({ status }) => status === 200)?.headers['etag'] ?? '';
    expect((await client.delete(contact).set('If-Match', etag)).body.code).toBe('precondition_failed');
    expect((await stranger.delete(contact).set('If-Match', current)).status).toBe(404);
    expect((await client.delete(contact).set('If-Match', current)).status).toBe(200);
  });

  it(`are at most ${MAX_CONTACTS} of an organization, also when the last are created at once`, async () => {
    await testApp.admin.query(
      `insert into contact (partner_id, org_id, name, name_key)
       select $1, $2, 'P' || n, 'p' || n from generate_series(1, $3) n`,
      [partnerId, orgId, MAX_CONTACTS - 2],
    );
    const responses = await Promise.all(Array.from({ length: 5 }, () => client.post(path(), { name: 'Last' })));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409]);
    expect(responses.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'contact_limit_reached' });
  });
});
