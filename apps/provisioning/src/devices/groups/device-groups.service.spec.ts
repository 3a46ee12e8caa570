import { randomUUID } from 'node:crypto';
import { PROVISIONING_DEVICE_GROUPS_EXISTING } from '@rmm/contracts';
import { actingUser } from '../../../test/acting-callers.js';
import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';
import { MAX_GROUPS, MAX_GROUPS_OF_DEVICE } from './device-groups.service.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

const GROUPS = '/orgs/device-groups';

describe('/orgs/device-groups', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteIds: string[];
  let client: Client;
  let foreign: { orgId: string; groupId: string; deviceId: string; siteId: string };

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    const other = await testApp.createPartner();
    const stranger = await testApp.clientFor({ partnerId: other });
    const foreignOrg = (await stranger.post('/orgs/organizations', { name: 'Foreign' })).body.id as string;
    foreign = {
      orgId: foreignOrg,
      groupId: (await stranger.post(GROUPS, { orgId: foreignOrg, name: 'Theirs' })).body.id,
      deviceId: await insertDevice(testApp.admin, { partner_id: other, org_id: foreignOrg }),
      siteId: (await stranger.post('/orgs/sites', { orgId: foreignOrg, name: 'Theirs' })).body.id,
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

  const create = async (body: object = {}, as = client) =>
    (await as.post(GROUPS, { orgId, name: `Group ${randomUUID()}`, ...body })).body as { id: string; siteId: string };
  const device = (siteId: string | null = null) =>
    insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, site_id: siteId });
  const replace = (id: string, deviceIds: unknown, as = client) => as.put(`${GROUPS}/${id}/devices`, { deviceIds });
  const member = (restriction: object) =>
    testApp.clientFor({ scope: 'organization', partnerId, orgId, ...restriction });
  const idsOf = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id);

  it('creates, reads, changes and deletes a group, with audit entries', async () => {
    const created = await client.post(GROUPS, { orgId, name: ' Servers ', description: 'All of them' });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.any(String),
      orgId,
      siteId: null,
      name: 'Servers',
      description: 'All of them',
      deviceCount: 0,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const { id } = created.body;
    expect((await client.get(`${GROUPS}/${id}`)).body).toEqual(created.body);
    const patched = await client.patch(`${GROUPS}/${id}`, { name: 'Hosts', description: null, siteId: siteIds[0] });
    expect(patched.body).toMatchObject({ name: 'Hosts', description: null, siteId: siteIds[0] });
    const removed = await client.delete(`${GROUPS}/${id}`);
    expect([removed.status, removed.body]).toEqual([200, { success: true }]);
    expect((await client.get(`${GROUPS}/${id}`)).status).toBe(404);
    for (const action of ['device_group.create', 'device_group.update', 'device_group.delete']) {
      const entry = await testApp.waitForMessage(action, ({ aggregateId }) => aggregateId === id);
      expect(entry.data).toMatchObject({ resourceType: 'device_group', resourceId: id, result: 'success' });
    }
    expect((await client.post(GROUPS, { orgId, name: 'Hosts' })).status).toBe(201);
  });

  it('replaces the members, which devices and filters show', async () => {
    const { id } = await create();
    const [a, b, c] = [await device(), await device(), await device()];
    expect((await replace(id, [a, b, a])).body.deviceCount).toBe(2);
    expect((await replace(id, [b, c])).body.deviceCount).toBe(2);
    expect((await client.get(`/devices/${a}`)).body.groupIds).toEqual([]);
    expect((await client.get(`/devices/${b}`)).body.groupIds).toEqual([id]);
    const listed = await client.get(`/devices?orgId=${orgId}&groupIds=${id}`);
    expect(idsOf(listed.body).sort()).toEqual([b, c].sort());
    await client.delete(`/devices/${b}`);
    expect((await client.get(`${GROUPS}/${id}`)).body.deviceCount).toBe(1);
    expect((await replace(id, [])).body.deviceCount).toBe(0);
    const entry = await testApp.waitForMessage(
      'device_group.update',
      ({ aggregateId, data }) => aggregateId === id && (data as { details: { added: number } }).details.added === 1,
    );
    expect(entry.data).toMatchObject({ details: { added: 1, removed: 1 } });
  });

  it('refuses members of other tenants, decommissioned, unknown and too many ones', async () => {
    const { id } = await create();
    const [own, gone] = [await device(), await device()];
    await client.delete(`/devices/${gone}`);
    const refused = await replace(id, [own, gone, foreign.deviceId, randomUUID()]);
    expect([refused.status, Object.keys(refused.body.details.fieldErrors)]).toEqual([
      400,
      ['deviceIds.1', 'deviceIds.2', 'deviceIds.3'],
    ]);
    for (const malformed of [undefined, null, 'x', ['x'], Array.from({ length: 1_001 }, () => randomUUID())]) {
      expect((await replace(id, malformed)).status).toBe(400);
    }
    expect((await client.get(`${GROUPS}/${id}`)).body.deviceCount).toBe(0);
  });

  it('keeps a group with a site to devices of the site', async () => {
    const { id } = await create({ siteId: siteIds[0] });
    const [inside, outside] = [await device(siteIds[0]), await device(siteIds[1])];
    expect((await replace(id, [inside, outside])).status).toBe(400);
    expect((await replace(id, [inside])).status).toBe(200);
    const moved = await client.patch(`${GROUPS}/${id}`, { siteId: siteIds[1] });
    expect([moved.status, Object.keys(moved.body.details.fieldErrors)]).toEqual([400, ['siteId']]);
    expect((await client.patch(`${GROUPS}/${id}`, { siteId: null })).status).toBe(200);
    expect((await replace(id, [inside, outside])).body.deviceCount).toBe(2);
  });

  it('has the members of one of 20 parallel requests', async () => {
    const { id } = await create();
    const pairs: string[][] = [];
    for (let n = 0; n < 5; n += 1) pairs.push([await device(), await device()].sort());
    const responses = await Promise.all(Array.from({ length: 20 }, (_, n) => replace(id, pairs[n % 5])));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    const { rows } = await testApp.admin.query('SELECT device_id FROM device_group_member WHERE group_id = $1', [id]);
    expect(pairs).toContainEqual(rows.map(({ device_id }) => device_id).sort());
  });

  it('survives parallel changes of groups that share devices while these are decommissioned', async () => {
    const groups = await Promise.all([create(), create(), create()]);
    const devices = await Promise.all(Array.from({ length: 6 }, () => device()));
    const work = groups.flatMap(({ id }) => [replace(id, devices), replace(id, [...devices].reverse())]);
    const responses = await Promise.all([...work, ...devices.slice(0, 3).map((id) => client.delete(`/devices/${id}`))]);
    expect(responses.filter(({ status }) => status >= 500)).toEqual([]);
    const { rows } = await testApp.admin.query(
      `SELECT count(*)::int AS n FROM device_group_member m JOIN device d ON d.id = m.device_id
        WHERE d.org_id = $1 AND d.decommissioned_at IS NOT NULL`,
      [orgId],
    );
    expect(rows[0].n).toBe(0);
  });

  it('has unique names, of which one of 20 parallel creates gets one', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => client.post(GROUPS, { orgId, name: 'Same  name' })),
    );
    const created = responses.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    expect(new Set(responses.filter(({ status }) => status !== 201).map(({ body }) => body.code))).toEqual(
      new Set(['device_group_name_conflict']),
    );
    const other = await create();
    const renamed = await client.patch(`${GROUPS}/${other.id}`, { name: 'SAME NAME' });
    expect([renamed.status, renamed.body.code]).toEqual([409, 'device_group_name_conflict']);
  });

  it('limits the groups of an organization and of a device under parallel requests', async () => {
    await testApp.admin.query(
      `INSERT INTO device_group (partner_id, org_id, name, name_key)
       SELECT $1, $2, 'Full ' || n, 'full ' || n FROM generate_series(1, $3::int) n`,
      [partnerId, orgId, MAX_GROUPS - 1],
    );
    const burst = () =>
      Promise.all(Array.from({ length: 5 }, () => client.post(GROUPS, { orgId, name: randomUUID() })));
    const created = await burst();
    expect(created.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    const { id } = created.find(({ status }) => status === 201)?.body ?? {};
    await client.delete(`${GROUPS}/${id}`);
    expect((await burst()).map(({ body }) => body.code).sort()).toEqual([
      ...Array.from({ length: 4 }, () => 'device_group_limit_reached'),
      undefined,
    ]);

    const busy = await device();
    await testApp.admin.query(
      `INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
       SELECT id, $1, partner_id, org_id FROM device_group WHERE org_id = $2 AND name LIKE 'Full%' ORDER BY id LIMIT $3`,
      [busy, orgId, MAX_GROUPS_OF_DEVICE - 1],
    );
    const free = await testApp.admin.query(
      `SELECT id FROM device_group WHERE org_id = $1 AND name LIKE 'Full%' ORDER BY id OFFSET $2 LIMIT 5`,
      [orgId, MAX_GROUPS_OF_DEVICE],
    );
    const joined = await Promise.all(free.rows.map((row) => replace(row.id, [busy])));
    expect(joined.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
  });

  it('lists by filter, name and cursor', async () => {
    for (const name of ['beta', 'Alpha', 'gamma']) await create({ name, siteId: name === 'beta' ? siteIds[0] : null });
    const names = async (query: string) => {
      const { body } = await client.get(`${GROUPS}?orgId=${orgId}${query}`);
      return body.data.map(({ name }: { name: string }) => name);
    };
    expect(await names('')).toEqual(['gamma', 'Alpha', 'beta']);
    expect(await names('&sort=name')).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await names(`&siteId=${siteIds[0]}`)).toEqual(['beta']);
    expect(await names('&search=AMM')).toEqual(['gamma']);
    const readNames: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const path = `${GROUPS}?orgId=${orgId}&sort=name&limit=1&includeTotal=true&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await client.get(path);
      expect(body.pagination).toMatchObject({ total: 3, sort: { by: 'name', dir: 'asc' } });
      readNames.push(...body.data.map(({ name }: { name: string }) => name));
      cursor = body.pagination.nextCursor;
    }
    expect(readNames).toEqual(['Alpha', 'beta', 'gamma']);
    expect((await client.get(`${GROUPS}?cursor=forged`)).body.code).toBe('invalid_cursor');
    for (const bad of ['sort=size', 'limit=0', 'siteId=x'])
      expect((await client.get(`${GROUPS}?${bad}`)).status).toBe(400);
  });

  it('returns 403 without the permission and for an organization of another tenant', async () => {
    const { id } = await create();
    const reader = await testApp.clientFor({ partnerId, permissions: ['devices:read'] });
    const blind = await testApp.clientFor({ partnerId, permissions: ['devices:write'] });
    for (const response of [
      await reader.post(GROUPS, { orgId, name: 'x' }),
      await reader.patch(`${GROUPS}/${id}`, { name: 'x' }),
      await reader.delete(`${GROUPS}/${id}`),
      await replace(id, [], reader),
      await blind.get(GROUPS),
      await blind.get(`${GROUPS}/${id}`),
    ]) {
      expect([response.status, response.body.code]).toEqual([403, 'permission_denied']);
    }
    for (const stranger of [foreign.orgId, randomUUID()]) {
      const refused = await client.post(GROUPS, { orgId: stranger, name: 'x' });
      expect([refused.status, refused.body.code]).toEqual([403, 'organization_access_denied']);
      expect((await client.get(`${GROUPS}?orgId=${stranger}`)).body.code).toBe('organization_access_denied');
    }
  });

  it('returns 404 for a group of another tenant, an unknown and a malformed id', async () => {
    for (const id of [foreign.groupId, randomUUID(), 'x']) {
      expect((await client.get(`${GROUPS}/${id}`)).status).toBe(404);
      expect((await client.patch(`${GROUPS}/${id}`, { name: 'x' })).status).toBe(404);
      expect((await client.delete(`${GROUPS}/${id}`)).status).toBe(404);
      expect((await replace(id, [])).status).toBe(404);
    }
  });

  it('returns 400 for a malformed body', async () => {
    const { id } = await create();
    for (const body of [
      {},
      { orgId },
      { orgId, name: '' },
      { orgId, name: 'x'.repeat(256) },
      { orgId, name: 'x', siteId: foreign.siteId },
      { orgId, name: 'x', siteId: 'x' },
      { orgId, name: 'x', color: 'red' },
      { name: 'x' },
    ]) {
      expect((await client.post(GROUPS, body)).status).toBe(400);
    }
    for (const body of [{}, { name: null }, { siteId: foreign.siteId }, { orgId }]) {
      expect((await client.patch(`${GROUPS}/${id}`, body)).status).toBe(400);
    }
  });

  describe('for restricted members', () => {
    let inside: string;
    let outside: string;
    let wide: string;

    beforeEach(async () => {
      [inside, outside, wide] = [
        (await create({ siteId: siteIds[0] })).id,
        (await create({ siteId: siteIds[1] })).id,
        (await create()).id,
      ];
    });

    it('shows the groups of their sites and lets them manage these', async () => {
      const restricted = await member({ siteIds: [siteIds[0]] });
      expect(idsOf((await restricted.get(GROUPS)).body)).toEqual([inside]);
      expect((await restricted.patch(`${GROUPS}/${inside}`, { name: 'Mine' })).status).toBe(200);
      expect((await replace(inside, [await device(siteIds[0])], restricted)).body.deviceCount).toBe(1);
      expect((await restricted.post(GROUPS, { name: 'New', siteId: siteIds[0] })).status).toBe(201);
      for (const response of [
        await restricted.get(`${GROUPS}/${outside}`),
        await restricted.get(`${GROUPS}/${wide}`),
        await restricted.patch(`${GROUPS}/${outside}`, { name: 'x' }),
        await restricted.patch(`${GROUPS}/${inside}`, { siteId: siteIds[1] }),
        await restricted.patch(`${GROUPS}/${inside}`, { siteId: null }),
        await restricted.delete(`${GROUPS}/${wide}`),
        await replace(outside, [], restricted),
        await restricted.post(GROUPS, { name: 'Wide' }),
        await restricted.post(GROUPS, { name: 'Other', siteId: siteIds[1] }),
      ]) {
        expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
      }
    });

    it('shows their groups and the devices in them, and lets them manage none', async () => {
      const [seen, hidden] = [await device(siteIds[0]), await device(siteIds[0])];
      await replace(wide, [seen]);
      const restricted = await member({ deviceGroupIds: [wide] });
      expect(idsOf((await restricted.get(GROUPS)).body)).toEqual([wide]);
      expect(idsOf((await restricted.get('/devices')).body)).toEqual([seen]);
      expect((await restricted.get(`/devices/${seen}`)).status).toBe(200);
      expect((await restricted.get(`/devices/${seen}/custom-fields`)).status).toBe(200);
      expect((await restricted.patch(`/devices/${seen}/custom-fields`, { rack: 'B1' })).status).toBe(200);
      for (const response of [
        await restricted.get(`/devices/${hidden}`),
        await restricted.get(`/devices/${hidden}/custom-fields`),
        await restricted.patch(`/devices/${hidden}/custom-fields`, { rack: 'B1' }),
        await restricted.delete(`/devices/${hidden}`),
        await restricted.get(`/devices?groupIds=${inside}`),
        await restricted.get(`${GROUPS}/${inside}`),
        await replace(wide, [seen, hidden], restricted),
        await restricted.patch(`${GROUPS}/${wide}`, { name: 'x' }),
        await restricted.delete(`${GROUPS}/${wide}`),
        await restricted.post(GROUPS, { name: 'x' }),
      ]) {
        expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
      }
      await client.delete(`${GROUPS}/${wide}`);
      expect(idsOf((await restricted.get('/devices')).body)).toEqual([]);
    });

    it('counts the devices of their sites only', async () => {
      await replace(wide, [await device(siteIds[0]), await device(siteIds[1]), await device()]);
      const both = await member({ siteIds: [siteIds[0]], deviceGroupIds: [wide] });
      expect((await both.get(`${GROUPS}/${wide}`)).body.deviceCount).toBe(1);
      expect((await both.get('/devices')).body.pagination.total).toBe(1);
    });
  });

  it('changes, fills and deletes a group for its entity tag only', async () => {
    const { id } = await create();
    const path = `${GROUPS}/${id}`;
    const { etag } = (await client.get(path)).headers as { etag: string };
    expect((await client.get(path).set('If-None-Match', etag)).status).toBe(304);
    const filled = await replace(id, [await device()]).set('If-Match', etag);
    expect([filled.status, filled.headers['etag']]).toEqual([200, (await client.get(path)).headers['etag']]);
    for (const refused of [
      await replace(id, []).set('If-Match', etag),
      await client.patch(path, { name: 'x' }).set('If-Match', etag),
      await client.delete(path).set('If-Match', etag),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([412, 'precondition_failed']);
    }
    const current = filled.headers['etag'] ?? '';
    const foreignGroup = `${GROUPS}/${foreign.groupId}`;
    expect((await client.patch(foreignGroup, { name: 'x' }).set('If-Match', current)).status).toBe(404);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => client.patch(path, { description: `${n}` }).set('If-Match', current)),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await client.delete(path).set('If-Match', '*')).status).toBe(200);
  });

  it('returns to other services which groups of an organization exist for the caller', async () => {
    const [live, deleted] = [await create(), await create()];
    await client.delete(`${GROUPS}/${deleted.id}`);
    const deviceGroupIds = [live.id, deleted.id, foreign.groupId, randomUUID()];
    const ask = (caller: ReturnType<typeof actingUser>, of = orgId) =>
      testApp.call(PROVISIONING_DEVICE_GROUPS_EXISTING, { caller, orgId: of, deviceGroupIds });
    expect(await ask(actingUser(partnerId))).toEqual({ deviceGroupIds: [live.id] });
    expect(await ask(actingUser(partnerId), foreign.orgId)).toEqual({ deviceGroupIds: [] });
    expect(await ask(actingUser(randomUUID()))).toEqual({ deviceGroupIds: [] });
    expect(await ask(actingUser(partnerId, { orgAccess: 'none' }))).toEqual({ deviceGroupIds: [] });
  });
});
