import { randomUUID } from 'node:crypto';
import { mintAgentToken } from '@rmm/secrets';
import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

describe('PATCH /devices/:id', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteIds: string[];
  let client: Client;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
    siteIds = [];
    for (const name of ['A', 'B']) siteIds.push((await client.post('/orgs/sites', { orgId, name })).body.id);
  });
  afterAll(() => testApp?.stop());

  const insert = (values: object = {}) =>
    insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, ...values });
  const update = (id: string, body: object, as = client) => as.patch(`/devices/${id}`, body);
  const about =
    (id: string) =>
    ({ aggregateId }: { aggregateId: string }) =>
      aggregateId === id;
  const group = async (siteId: string | null, ...deviceIds: string[]) => {
    const { id } = (await client.post('/orgs/device-groups', { orgId, siteId, name: randomUUID() })).body;
    expect((await client.put(`/orgs/device-groups/${id}/devices`, { deviceIds })).status).toBe(200);
    return id as string;
  };

  it('changes the given fields, publishes and audits them', async () => {
    const id = await insert({ hostname: 'alpha', site_id: siteIds[0] });
    const body = { displayName: 'Reception', tags: ['pc', 'pc', 'front'] };
    const response = await update(id, body);
    const expected = { displayName: 'Reception', tags: ['pc', 'front'], siteId: siteIds[0], status: 'online' };
    expect([response.status, response.body]).toEqual([200, expect.objectContaining(expected)]);
    const event = await testApp.waitForMessage('device.updated', about(id));
    expect(event).toMatchObject({ orgId, partnerId, aggregateVersion: 2 });
    expect(event.data).toEqual({
      deviceId: id,
      hostname: 'alpha',
      fields: ['displayName', 'tags'],
      displayName: 'Reception',
      tags: ['pc', 'front'],
    });
    const entry = await testApp.waitForMessage('device.update', about(id));
    expect(entry.data).toMatchObject({ resourceId: id, details: { fields: ['displayName', 'tags'] } });
    expect((await update(id, { displayName: null })).body.displayName).toBeNull();
  });

  it('changes and decommissions the device for its entity tag only, whatever its agent reports meanwhile', async () => {
    const { key, keyHash } = mintAgentToken();
    const id = await insert({ agent_token_hash: keyHash });
    const path = `/devices/${id}`;
    const read = await client.get(path);
    const etag = read.headers['etag'] ?? '';
    const heartbeat = await testApp.client(key).post(`/agents/${read.body.agentId}/heartbeat`, { agentVersion: '9.9' });
    expect(heartbeat.status).toBe(200);
    expect((await client.get(path).set('If-None-Match', etag)).body.agentVersion).toBe('9.9');
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => update(id, { displayName: `${n}` }).set('If-Match', etag)),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    expect((await client.delete(path).set('If-Match', etag)).body.code).toBe('precondition_failed');
    const stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    expect((await update(id, { tags: [] }, stranger).set('If-Match', etag)).status).toBe(404);
    const current = (await client.get(path)).headers['etag'] ?? '';
    expect((await client.delete(path).set('If-Match', current)).status).toBe(200);
  });

  it('moves the device to another site: groups of the former site end and the counts follow', async () => {
    const id = await insert({ site_id: siteIds[0] });
    const [ofSite, ofOrganization] = [await group(siteIds[0] ?? null, id), await group(null, id)];
    const counts = async () => {
      const sites = (await client.get(`/orgs/sites?orgId=${orgId}&sort=name`)).body.data;
      return sites.map(({ deviceCount }: { deviceCount: number }) => deviceCount);
    };
    const before = await counts();
    const moved = await update(id, { siteId: siteIds[1] });
    expect(moved.body).toMatchObject({ siteId: siteIds[1], groupIds: [ofOrganization] });
    expect(await counts()).toEqual([before[0] - 1, before[1] + 1]);
    expect((await client.get(`/orgs/device-groups/${ofSite}`)).body.deviceCount).toBe(0);
    expect((await update(id, { siteId: null })).body).toMatchObject({ siteId: null, groupIds: [ofOrganization] });
  });

  it('keeps maintenance until it is ended; the next heartbeat then sets the device online', async () => {
    const { key, keyHash } = mintAgentToken();
    const id = await insert({ agent_token_hash: keyHash, agent_version: '1.0' });
    const { agentId } = (await client.get(`/devices/${id}`)).body;
    const status = async () => (await client.get(`/devices/${id}`)).body.status;
    const sendHeartbeat = () => testApp.client(key).post(`/agents/${agentId}/heartbeat`, { agentVersion: '1.0' });
    expect((await update(id, { status: 'maintenance' })).body.status).toBe('maintenance');
    expect((await sendHeartbeat()).status).toBe(200);
    expect(await status()).toBe('maintenance');
    expect((await update(id, { status: 'offline' })).body.status).toBe('offline');
    expect(testApp.received.filter(({ type, aggregateId }) => type === 'device.offline' && aggregateId === id)).toEqual(
      [],
    );
    await sendHeartbeat();
    await testApp.waitForMessage('device.online', about(id));
    expect(await status()).toBe('online');
    await update(id, { status: 'offline' });
    expect((await testApp.waitForMessage('device.offline', about(id))).data).toMatchObject({ deviceId: id });
  });

  it('publishes nothing for values that are stored already', async () => {
    const id = await insert({ tags: ['a'] });
    expect((await update(id, { tags: ['a'], displayName: null })).status).toBe(200);
    await update(id, { tags: ['b'] });
    await testApp.waitForMessage('device.updated', about(id));
    const events = testApp.received.filter(({ type, aggregateId }) => type === 'device.updated' && aggregateId === id);
    expect(events.map(({ aggregateVersion }) => aggregateVersion)).toEqual([2]);
  });

  it('applies 20 parallel changes of different fields', async () => {
    const id = await insert();
    const bodies = Array.from({ length: 20 }, (_, n) => (n % 2 ? { tags: [`t${n}`] } : { displayName: `D ${n}` }));
    const responses = await Promise.all(bodies.map((body) => update(id, body)));
    expect(responses.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    const { body } = await client.get(`/devices/${id}`);
    expect([body.tags, body.displayName]).toEqual([[expect.stringMatching(/^t\d+/)], expect.stringMatching(/^D \d+/)]);
  });

  it.each([
    ['nothing', {}],
    ['an unknown field', { hostname: 'x' }],
    ['a status that is not set by users', { status: 'online' }],
    ['an empty name', { displayName: ' ' }],
    ['too many tags', { tags: Array.from({ length: 51 }, (_, n) => `t${n}`) }],
    ['a long tag', { tags: ['x'.repeat(51)] }],
    ['an unknown site', { siteId: randomUUID() }],
  ])('returns 400 for %s', async (_, body) => {
    const response = await update(await insert(), body);
    expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
  });

  it('returns 400 for a site of another organization', async () => {
    const other = (await client.post('/orgs/organizations', { name: 'Other' })).body.id;
    const siteId = (await client.post('/orgs/sites', { orgId: other, name: 'Theirs' })).body.id;
    expect((await update(await insert(), { siteId })).status).toBe(400);
  });

  it('returns 409 for a decommissioned device', async () => {
    const id = await insert({ status: 'decommissioned' });
    expect((await update(id, { tags: ['x'] })).body.code).toBe('device_decommissioned');
  });

  it('returns 404 for a device of another partner, and 403 without permission or outside of the sites', async () => {
    const id = await insert({ site_id: siteIds[0] });
    const theirs = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    expect((await update(id, { tags: ['x'] }, theirs)).status).toBe(404);
    const reader = await testApp.clientFor({ partnerId, permissions: ['devices:read'] });
    expect((await update(id, { tags: ['x'] }, reader)).body.code).toBe('permission_denied');
    const restricted = (...sites: (string | undefined)[]) =>
      testApp.clientFor({ scope: 'organization', partnerId, orgId, siteIds: sites as string[] });
    expect((await update(id, { tags: ['x'] }, await restricted(siteIds[1]))).body.code).toBe('site_access_denied');
    const own = await restricted(siteIds[0]);
    expect((await update(id, { tags: ['x'] }, own)).status).toBe(200);
    for (const siteId of [siteIds[1], null]) {
      expect((await update(id, { siteId }, own)).body.code).toBe('site_access_denied');
    }
  });
});
