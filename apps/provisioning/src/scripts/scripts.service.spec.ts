import { randomUUID } from 'node:crypto';
import type { FakeUser } from '@rmm/testing/fake-identity';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { MAX_CONTENT_BYTES } from './dto/script-fields.decorator.js';
import { MAX_VERSIONS } from './script-versions.repository.js';
import { MAX_SCRIPTS } from './scripts.service.js';

const NEW = { name: 'Disk space', osTypes: ['linux'], language: 'bash', content: 'df -h' };

describe('/scripts', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  const freshPartner = async (user: FakeUser = {}) => {
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId, ...user });
    const orgId = (await client.post('/orgs/organizations', { name: `Org ${randomUUID()}` }).expect(201)).body
      .id as string;
    return { partnerId, client, orgId };
  };
  type Client = Awaited<ReturnType<typeof freshPartner>>['client'];
  const create = async (client: Client, orgId: string, changes: object = {}) =>
    (await client.post('/scripts', { ...NEW, orgId, ...changes }).expect(201)).body;
  const codeOf = async (request: PromiseLike<{ status: number; body: { code: string } }>) => {
    const { status, body } = await request;
    return [status, body.code];
  };

  it('creates, lists, shows, changes and deletes a script', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const created = await create(client, orgId, {
      description: 'Shows disks',
      category: 'Storage',
      tags: ['disk', 'disk', 'daily'],
      parameters: [{ name: 'limit', type: 'number' }],
      exitCodeSeverityMapping: { '0': null, '1': 'high' },
    });
    expect(created).toEqual({
      id: expect.any(String),
      orgId,
      partnerId,
      name: 'Disk space',
      description: 'Shows disks',
      category: 'Storage',
      osTypes: ['linux'],
      language: 'bash',
      content: 'df -h',
      parameters: [{ name: 'limit', type: 'number' }],
      runAs: 'system',
      timeoutSeconds: 300,
      exitCodeSeverityMapping: { '0': null, '1': 'high' },
      tags: ['disk', 'daily'],
      version: 1,
      isSystem: false,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const { content: _content, ...summary } = created;
    const list = await client.get('/scripts').expect(200);
    expect(list.body).toMatchObject({ data: [summary], pagination: { page: 1, total: 1 } });
    expect(list.body.data[0]).not.toHaveProperty('content');
    const one = `/scripts/${created.id}`;
    expect((await client.get(one).expect(200)).body).toEqual(created);
    const renamed = (await client.patch(one, { name: 'Disks', description: null, tags: null }).expect(200)).body;
    expect(renamed).toMatchObject({ name: 'Disks', description: null, tags: [], version: 1, content: 'df -h' });
    expect((await client.delete(one).expect(200)).body).toEqual({ success: true });
    await client.get(one).expect(404);
    for (const action of ['create', 'update', 'delete']) {
      await testApp.waitForMessage(`script.${action}`, ({ data }) => JSON.stringify(data).includes(created.id));
    }
  });

  it('keeps replaced versions when what a device runs changes, the newest ones only', async () => {
    const { client, orgId } = await freshPartner();
    const { id } = await create(client, orgId);
    const one = `/scripts/${id}`;
    expect((await client.get(`${one}/versions`).expect(200)).body).toMatchObject({
      data: [],
      pagination: { total: 0 },
    });
    expect((await client.patch(one, { content: 'df -hT', tags: ['x'] })).body).toMatchObject({ version: 2 });
    expect((await client.patch(one, { content: 'df -hT' })).body).toMatchObject({ version: 2 });
    expect((await client.patch(one, { timeoutSeconds: 60 })).body).toMatchObject({ version: 3, content: 'df -hT' });
    const { data } = (await client.get(`${one}/versions`).expect(200)).body;
    expect(data).toMatchObject([
      { version: 2, timeoutSeconds: 300, tags: ['x'] },
      { version: 1, tags: [], createdBy: expect.any(String), replacedAt: expect.any(String) },
    ]);
    expect(data[0]).not.toHaveProperty('content');
    expect((await client.get(`${one}/versions/1`).expect(200)).body).toMatchObject({ version: 1, content: 'df -h' });
    for (const path of ['3', '0', 'x', '1e9', '99999999999']) await client.get(`${one}/versions/${path}`).expect(404);
    for (let n = 0; n < MAX_VERSIONS; n += 1) await client.patch(one, { content: `echo ${n}` }).expect(200);
    const kept = (await client.get(`${one}/versions?limit=100`).expect(200)).body.data as { version: number }[];
    expect(kept.map(({ version }) => version)).toEqual(
      Array.from({ length: MAX_VERSIONS }, (_, n) => MAX_VERSIONS + 2 - n),
    );
  });

  it('raises the version once for each of concurrent changes', async () => {
    const { client, orgId } = await freshPartner();
    const { id } = await create(client, orgId);
    const changes = await Promise.all(
      Array.from({ length: 5 }, (_, n) => client.patch(`/scripts/${id}`, { content: `echo ${n}` })),
    );
    expect(changes.map(({ body }) => body.version).sort()).toEqual([2, 3, 4, 5, 6]);
    expect((await client.get(`/scripts/${id}/versions`)).body.pagination.total).toBe(5);
  });

  it('creates one of concurrent scripts with the same name', async () => {
    const { client, orgId } = await freshPartner();
    const names = ['Disk  SPACE', 'disk space', ' Disk space '];
    const created = await Promise.all(names.map((name) => client.post('/scripts', { ...NEW, orgId, name })));
    expect(created.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const other = await create(client, orgId, { name: 'Other' });
    expect(await codeOf(client.patch(`/scripts/${other.id}`, { name: 'DISK SPACE' }))).toEqual([409, 'name_taken']);
    expect((await client.patch(`/scripts/${other.id}`, { name: 'OTHER' })).body.name).toBe('OTHER');
  });

  it('shows scripts of the partner to its organizations, which do not change them', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const wide = (await client.post('/scripts', { ...NEW, availability: 'partner' }).expect(201)).body;
    expect(wide).toMatchObject({ orgId: null, partnerId });
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId });
    const own = (await member.post('/scripts', { ...NEW, name: 'Own' }).expect(201)).body;
    expect(own.orgId).toBe(orgId);
    const ids = async (query: string) =>
      (await member.get(`/scripts${query}`).expect(200)).body.data.map(({ id }: { id: string }) => id);
    expect(await ids('')).toEqual([own.id, wide.id]);
    expect(await ids('?availability=partner')).toEqual([wide.id]);
    expect(await ids(`?orgId=${orgId}`)).toEqual([own.id]);
    expect(await codeOf(member.post('/scripts', NEW))).toEqual([409, 'name_taken']);
    for (const refused of [
      member.patch(`/scripts/${wide.id}`, { content: 'rm' }),
      member.delete(`/scripts/${wide.id}`),
      member.post('/scripts', { ...NEW, availability: 'partner' }),
    ]) {
      expect(await codeOf(refused)).toEqual([403, 'full_partner_access_required']);
    }
    const selected = await testApp.clientFor({ partnerId, orgAccess: 'selected', orgIds: [orgId] });
    expect((await selected.get(`/scripts/${wide.id}`)).status).toBe(200);
    expect(await codeOf(selected.delete(`/scripts/${wide.id}`))).toEqual([403, 'full_partner_access_required']);
    await selected.patch(`/scripts/${own.id}`, { category: 'Mine' }).expect(200);
    await member.delete(`/scripts/${own.id}`).expect(200);
  });

  it('hides scripts from other tenants and of deleted organizations', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const { id } = await create(client, orgId);
    const theirs = (await freshPartner()).client;
    const elsewhere = (await client.post('/orgs/organizations', { name: 'Elsewhere' })).body.id;
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId: elsewhere });
    for (const stranger of [theirs, member]) {
      for (const refused of [
        stranger.get(`/scripts/${id}`),
        stranger.get(`/scripts/${id}/versions`),
        stranger.get(`/scripts/${id}/versions/1`),
        stranger.patch(`/scripts/${id}`, { name: 'x' }),
        stranger.delete(`/scripts/${id}`),
      ]) {
        expect(await codeOf(refused)).toEqual([404, 'not_found']);
      }
      expect(await codeOf(stranger.get(`/scripts?orgId=${orgId}`))).toEqual([403, 'organization_access_denied']);
      expect(await codeOf(stranger.post('/scripts', { ...NEW, orgId }))).toEqual([403, 'organization_access_denied']);
    }
    await client.get('/scripts/no-uuid').expect(404);
    await client.delete(`/orgs/organizations/${orgId}`).expect(200);
    await client.get(`/scripts/${id}`).expect(404);
    expect((await client.get('/scripts')).body.data).toEqual([]);
  });

  it('needs the permissions, a second factor for changes, and no restriction to sites', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const { id } = await create(client, orgId);
    const clientWith = (user: FakeUser) => testApp.clientFor({ partnerId, ...user });
    const reader = await clientWith({ permissions: ['scripts:read'] });
    await reader.get(`/scripts/${id}`).expect(200);
    expect(await codeOf(reader.post('/scripts', { ...NEW, orgId }))).toEqual([403, 'permission_denied']);
    expect(await codeOf(reader.delete(`/scripts/${id}`))).toEqual([403, 'permission_denied']);
    const writer = await clientWith({ permissions: ['scripts:write'] });
    expect(await codeOf(writer.get('/scripts'))).toEqual([403, 'permission_denied']);
    expect(await codeOf(writer.delete(`/scripts/${id}`))).toEqual([403, 'permission_denied']);
    const single = await clientWith({ mfa: false });
    expect(await codeOf(single.post('/scripts', { ...NEW, orgId }))).toEqual([403, 'mfa_required']);
    expect(await codeOf(single.patch(`/scripts/${id}`, { name: 'x' }))).toEqual([403, 'mfa_required']);
    const restricted = await clientWith({ scope: 'organization', orgId, siteIds: [randomUUID()] });
    expect((await restricted.get('/scripts')).body.data).toHaveLength(1);
    expect(await codeOf(restricted.post('/scripts', { ...NEW, name: 'B' }))).toEqual([403, 'site_access_denied']);
    expect(await codeOf(restricted.delete(`/scripts/${id}`))).toEqual([403, 'site_access_denied']);
    const grouped = await clientWith({ scope: 'organization', orgId, deviceGroupIds: [randomUUID()] });
    expect(await codeOf(grouped.patch(`/scripts/${id}`, { name: 'x' }))).toEqual([403, 'site_access_denied']);
  });

  it.each<[string, object, string]>([
    ['no name', { name: '  ' }, 'name'],
    ['a long name', { name: 'x'.repeat(256) }, 'name'],
    ['no operating system', { osTypes: [] }, 'osTypes'],
    ['an unknown operating system', { osTypes: ['beos'] }, 'osTypes.0'],
    ['an unknown language', { language: 'perl' }, 'language'],
    ['blank content', { content: ' \n' }, 'content'],
    ['NUL in the content', { content: 'a\u0000' }, 'content'],
    ['large content', { content: 'ä'.repeat(MAX_CONTENT_BYTES / 2 + 1) }, 'content'],
    ['another user', { runAs: 'root' }, 'runAs'],
    ['no time', { timeoutSeconds: 0 }, 'timeoutSeconds'],
    ['much time', { timeoutSeconds: 3_601 }, 'timeoutSeconds'],
    ['a long description', { description: 'x'.repeat(10_001) }, 'description'],
    ['many tags', { tags: Array.from({ length: 21 }, (_, n) => `t${n}`) }, 'tags'],
    ['a long tag', { tags: ['x'.repeat(51)] }, 'tags.0'],
    ['a text as parameters', { parameters: 'x' }, 'parameters'],
    ['deep parameters', { parameters: [[[[[[[[[]]]]]]]]] }, 'parameters'],
    ['large parameters', { parameters: { a: 'x'.repeat(65_536) } }, 'parameters'],
    ['a mapping without severity', { exitCodeSeverityMapping: { '0': null, '1': null } }, 'exitCodeSeverityMapping'],
    ['an empty mapping', { exitCodeSeverityMapping: {} }, 'exitCodeSeverityMapping'],
    ['a mapping of a word', { exitCodeSeverityMapping: { ok: 'low' } }, 'exitCodeSeverityMapping'],
    ['an unknown severity', { exitCodeSeverityMapping: { '1': 'fatal' } }, 'exitCodeSeverityMapping'],
    ['an unknown field', { isSystem: true }, 'isSystem'],
    ['the version', { version: 7 }, 'version'],
    ['another availability', { availability: 'all' }, 'availability'],
  ])('refuses a script with %s', async (_, changes, field) => {
    const { client, orgId } = await freshPartner();
    const { body } = await client.post('/scripts', { ...NEW, orgId, ...changes }).expect(400);
    expect([body.code, Object.keys(body.details.fieldErrors)]).toEqual(['validation_failed', [field]]);
  });

  it('accepts what is just allowed', async () => {
    const { client, orgId } = await freshPartner();
    const content = 'ä'.repeat(MAX_CONTENT_BYTES / 2);
    const limits = {
      content,
      parameters: [[[[[[[[1]]]]]]]],
      timeoutSeconds: 3_600,
      tags: Array.from({ length: 20 }, (_, n) => `${n}`.padStart(50, 't')),
      exitCodeSeverityMapping: { '-2147483648': 'low', '4294967295': 'critical' },
    };
    expect(await create(client, orgId, limits)).toMatchObject(limits);
    expect(await codeOf(client.patch(`/scripts/${(await create(client, orgId, { name: 'B' })).id}`, {}))).toEqual([
      400,
      'validation_failed',
    ]);
  });

  it('names the organization or partner that a caller without one needs', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const fieldOf = async (body: object, from = client) =>
      Object.keys((await from.post('/scripts', { ...NEW, ...body }).expect(400)).body.details.fieldErrors);
    expect(await fieldOf({})).toEqual(['orgId']);
    expect(await fieldOf({ orgId, availability: 'partner' })).toEqual(['orgId']);
    expect(await fieldOf({ orgId, partnerId })).toEqual(['partnerId']);
    const system = await testApp.clientFor({ scope: 'system' });
    expect(await fieldOf({ availability: 'partner' }, system)).toEqual(['partnerId']);
    await system.post('/scripts', { ...NEW, availability: 'partner', partnerId }).expect(201);
    await system.post('/scripts', { ...NEW, name: 'B', orgId }).expect(201);
    const unknown = { ...NEW, availability: 'partner', partnerId: randomUUID() };
    expect(await codeOf(system.post('/scripts', unknown))).toEqual([403, 'partner_access_denied']);
    expect((await system.get(`/scripts?orgId=${orgId}&sort=name`)).body.data).toHaveLength(1);
    expect(await codeOf(system.get('/scripts?sort=name'))).toEqual([400, 'validation_failed']);
  });

  it('filters and sorts, by page and by cursor', async () => {
    const { client, orgId } = await freshPartner();
    await create(client, orgId, { name: 'b 100%', tags: ['x'], category: 'One' });
    await create(client, orgId, { name: 'a 100x', osTypes: ['windows', 'linux'], language: 'powershell' });
    await create(client, orgId, { name: 'C', osTypes: ['windows'], language: 'cmd' });
    const names = async (query: string) =>
      (await client.get(`/scripts?${query}`).expect(200)).body.data.map(({ name }: { name: string }) => name);
    expect(await names('sort=name')).toEqual(['a 100x', 'b 100%', 'C']);
    expect(await names('sort=name&order=desc')).toEqual(['C', 'b 100%', 'a 100x']);
    expect(await names('')).toEqual(['C', 'a 100x', 'b 100%']);
    expect(await names('search=100%25')).toEqual(['b 100%']);
    expect(await names('osType=windows')).toEqual(['C', 'a 100x']);
    expect(await names('language=cmd')).toEqual(['C']);
    expect(await names('category=One')).toEqual(['b 100%']);
    expect(await names('tag=x')).toEqual(['b 100%']);
    const first = (await client.get('/scripts?sort=name&limit=2&cursor=&includeTotal=true').expect(200)).body;
    expect(first.pagination).toMatchObject({ total: 3, sort: { by: 'name', dir: 'asc' } });
    const cursor = encodeURIComponent(first.pagination.nextCursor as string);
    expect(await names(`sort=name&limit=2&cursor=${cursor}`)).toEqual(['C']);
    expect(await codeOf(client.get(`/scripts?cursor=${cursor}`))).toEqual([400, 'invalid_cursor']);
  });

  it('changes and deletes a script for its entity tag only', async () => {
    const { client, orgId } = await freshPartner();
    const path = `/scripts/${(await create(client, orgId)).id}`;
    const { etag } = (await client.get(path)).headers as { etag: string };
    expect((await client.get(path).set('If-None-Match', etag)).status).toBe(304);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => client.patch(path, { content: `df ${n}` }).set('If-Match', etag)),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    const current = responses.find(({ status }) => status === 200)?.headers['etag'] ?? '';
    expect((await client.get(path)).headers['etag']).toBe(current);
    expect(await codeOf(client.delete(path).set('If-Match', etag))).toEqual([412, 'precondition_failed']);
    const { client: stranger } = await freshPartner();
    expect(await codeOf(stranger.delete(path).set('If-Match', etag))).toEqual([404, 'not_found']);
    await client.delete(path).set('If-Match', current).expect(200);
  });

  it('refuses more scripts than an owner may have', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    await testApp.admin.query(
      `INSERT INTO script (id, partner_id, org_id, name, name_key, os_types, language, content, run_as, timeout_seconds,
         version, definition_sha256)
       SELECT gen_random_uuid(), $1, $2, 'S' || n, 's' || n, '{linux}', 'bash', 'x', 'system', 300, 1, repeat('0', 64)
         FROM generate_series(1, $3::int) n`,
      [partnerId, orgId, MAX_SCRIPTS],
    );
    expect(await codeOf(client.post('/scripts', { ...NEW, orgId }))).toEqual([409, 'script_limit_reached']);
  });
});
