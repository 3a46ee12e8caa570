import { randomUUID } from 'node:crypto';
import { mintAgentToken } from '@rmm/secrets';
import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

describe('/devices/bulk', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgIds: string[];
  let siteIds: string[];
  let client: Client;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());
  beforeEach(async () => {
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
    [orgIds, siteIds] = [[], []];
    for (const name of ['A', 'B']) {
      const orgId = (await client.post('/orgs/organizations', { name })).body.id as string;
      orgIds.push(orgId);
      siteIds.push((await client.post('/orgs/sites', { orgId, name: 'Site' })).body.id);
    }
  });

  const device = (values: object = {}) =>
    insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgIds[0], ...values });
  const devices = async (count: number, values: object = {}) => {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await device(values));
    return ids;
  };
  const send = async (action: string, body: object, as = client) => {
    const response = await as.post(`/devices/bulk/${action}`, body);
    return response.status === 200 ? response.body.data : response.body;
  };
  const outcomes = (data: { results: { status: string; code?: string }[] }) =>
    data.results.map(({ status, code }) => code ?? status);
  const rowOf = async (id: string) =>
    (await testApp.admin.query('SELECT tags, site_id, version::int AS version FROM device WHERE id = $1', [id]))
      .rows[0];
  const groupOf = async (more: object = {}) =>
    (await client.post('/orgs/device-groups', { orgId: orgIds[0], name: randomUUID(), ...more })).body.id as string;

  it('adds and removes tags with one event and audit entry for each changed device, once', async () => {
    const [plain, tagged, ended] = [
      await device({ tags: ['old', 'kept'] }),
      await device({ tags: ['vip'] }),
      await device({ status: 'decommissioned' }),
    ];
    const body = { deviceIds: [plain, tagged, ended, randomUUID()], add: ['vip'], remove: ['old'] };
    const first = await send('tags', body);
    expect(outcomes(first)).toEqual(['changed', 'unchanged', 'device_decommissioned', 'not_found']);
    expect(first.summary).toEqual({ changed: 1, unchanged: 1, failed: 2 });
    expect(await rowOf(plain)).toMatchObject({ tags: ['kept', 'vip'], version: 2 });
    expect(await rowOf(tagged)).toMatchObject({ version: 1 });
    const about = ({ aggregateId }: { aggregateId: string }) => aggregateId === plain;
    const event = await testApp.waitForMessage('device.updated', about);
    expect(event).toMatchObject({ aggregateVersion: 2, orgId: orgIds[0] });
    expect(event.data).toEqual({ deviceId: plain, hostname: 'pc-1', fields: ['tags'], tags: ['kept', 'vip'] });
    const entry = await testApp.waitForMessage('device.update', about);
    expect(entry.data).toMatchObject({ details: { fields: ['tags'] } });
    expect(outcomes(await send('tags', body))).toEqual([
      'unchanged',
      'unchanged',
      'device_decommissioned',
      'not_found',
    ]);
    expect(await rowOf(plain)).toMatchObject({ version: 2 });
  });

  it('limits the tags of each device', async () => {
    const full = await device({ tags: Array.from({ length: 50 }, (_, n) => `t${n}`) });
    const deviceIds = [full, await device()];
    expect(outcomes(await send('tags', { deviceIds, add: ['more'] }))).toEqual(['tag_limit_reached', 'changed']);
  });

  it('moves devices of the organization to a site and out of the groups of other sites', async () => {
    const other = (await client.post('/orgs/sites', { orgId: orgIds[0], name: 'Other' })).body.id as string;
    const [here, there, foreign] = [
      await device({ site_id: siteIds[0] }),
      await device({ site_id: other }),
      await device({ org_id: orgIds[1] }),
    ];
    const [ofSite, ofAll] = [await groupOf({ siteId: siteIds[0] }), await groupOf()];
    for (const groupId of [ofSite, ofAll]) await send('group', { deviceIds: [here], groupId, action: 'add' });
    const body = { deviceIds: [here, there, foreign], siteId: other };
    expect(outcomes(await send('site', body))).toEqual(['changed', 'unchanged', 'organization_mismatch']);
    expect((await client.get(`/devices/${here}`)).body).toMatchObject({ siteId: other, groupIds: [ofAll] });
    const event = await testApp.waitForMessage('device.updated', ({ aggregateId }) => aggregateId === here);
    expect(event.data).toMatchObject({ fields: ['siteId'], siteId: other });
    const counts = await testApp.admin.query('SELECT devices FROM site_count WHERE site_id = ANY ($1) ORDER BY 1', [
      [siteIds[0], other],
    ]);
    expect(counts.rows).toEqual([{ devices: 0 }, { devices: 2 }]);
    expect(outcomes(await send('site', { deviceIds: [here, foreign], siteId: null }))).toEqual([
      'changed',
      'unchanged',
    ]);
    expect((await send('site', { deviceIds: [here], siteId: randomUUID() })).details.fieldErrors).toHaveProperty(
      'siteId',
    );
  });

  it('adds devices to a group and removes them', async () => {
    const groupId = await groupOf({ siteId: siteIds[0] });
    const [fits, elsewhere, foreign] = [
      await device({ site_id: siteIds[0] }),
      await device(),
      await device({ org_id: orgIds[1] }),
    ];
    const deviceIds = [fits, elsewhere, foreign];
    const change = (action: string) => send('group', { deviceIds, groupId, action }).then(outcomes);
    expect(await change('add')).toEqual(['changed', 'site_mismatch', 'organization_mismatch']);
    expect(await change('add')).toEqual(['unchanged', 'site_mismatch', 'organization_mismatch']);
    expect((await client.get(`/orgs/device-groups/${groupId}`)).body.deviceCount).toBe(1);
    expect(await change('remove')).toEqual(['changed', 'unchanged', 'organization_mismatch']);
    expect((await client.get(`/orgs/device-groups/${groupId}`)).body.deviceCount).toBe(0);
    const unknown = await send('group', { deviceIds, groupId: randomUUID(), action: 'add' });
    expect(unknown.details.fieldErrors).toHaveProperty('groupId');
  });

  it('limits the groups of each device', async () => {
    const id = await device();
    await testApp.admin.query(
      `WITH g AS (INSERT INTO device_group (partner_id, org_id, name, name_key)
                  SELECT $1, $2, 'G' || n, 'g' || n FROM generate_series(1, 50) n RETURNING id)
       INSERT INTO device_group_member (group_id, device_id, partner_id, org_id) SELECT id, $3, $1, $2 FROM g`,
      [partnerId, orgIds[0], id],
    );
    const body = { deviceIds: [id], groupId: await groupOf(), action: 'add' };
    expect(outcomes(await send('group', body))).toEqual(['group_limit_reached']);
  });

  it('decommissions devices of several organizations and refuses their agents at once', async () => {
    const { key, keyHash } = mintAgentToken();
    const ids = [await device({ agent_token_hash: keyHash }), await device({ org_id: orgIds[1] })];
    const { rows } = await testApp.admin.query('SELECT agent_id FROM device WHERE id = $1', [ids[0]]);
    const sendHeartbeat = () => testApp.client(key).post(`/agents/${rows[0].agent_id}/heartbeat`);
    expect((await sendHeartbeat()).status).toBe(200);
    expect(outcomes(await send('decommission', { deviceIds: ids }))).toEqual(['changed', 'changed']);
    expect(outcomes(await send('decommission', { deviceIds: ids }))).toEqual(['unchanged', 'unchanged']);
    expect((await sendHeartbeat()).status).toBe(401);
    for (const id of ids) {
      const about = ({ aggregateId }: { aggregateId: string }) => aggregateId === id;
      expect((await testApp.waitForMessage('device.decommissioned', about)).aggregateVersion).toBe(2);
      await testApp.waitForMessage('device.decommission', about);
    }
    const counts = await testApp.admin.query('SELECT devices FROM partner_count WHERE partner_id = $1', [partnerId]);
    expect(counts.rows).toEqual([{ devices: 0 }]);
  });

  it('changes 1,000 devices at once, and refuses more', async () => {
    const { rows } = await testApp.admin.query(
      `WITH d AS (INSERT INTO device (partner_id, org_id, hostname, os_type)
                  SELECT $1, $2, 'pc', 'linux' FROM generate_series(1, 1000) RETURNING id)
       , s AS (INSERT INTO device_state (device_id, partner_id, org_id, status) SELECT id, $1, $2, 'offline' FROM d)
       SELECT id FROM d`,
      [partnerId, orgIds[0]],
    );
    const deviceIds = rows.map(({ id }) => id as string);
    expect((await send('tags', { deviceIds, add: ['all'] })).summary).toEqual({
      changed: 1_000,
      unchanged: 0,
      failed: 0,
    });
    expect((await send('site', { deviceIds, siteId: siteIds[0] })).summary.changed).toBe(1_000);
    expect((await send('decommission', { deviceIds })).summary.changed).toBe(1_000);
    expect((await send('tags', { deviceIds: [...deviceIds, randomUUID()], add: ['x'] })).code).toBe(
      'validation_failed',
    );
  });

  it('applies each of several parallel requests over the same devices', async () => {
    const ids = await devices(5);
    const reversed = ids.toReversed();
    const requests = ['a', 'b', 'c', 'd', 'e', 'f'].map((tag, n) =>
      send('tags', { deviceIds: n % 2 === 0 ? ids : reversed, add: [tag] }),
    );
    expect((await Promise.all(requests)).map(({ summary }) => summary.changed)).toEqual([5, 5, 5, 5, 5, 5]);
    for (const id of ids) {
      const row = await rowOf(id);
      expect([row.tags.toSorted(), row.version]).toEqual([['a', 'b', 'c', 'd', 'e', 'f'], 7]);
    }
  });

  it('leaves devices outside of the sites and groups of the caller alone', async () => {
    const [own, other] = [await device({ site_id: siteIds[0] }), await device()];
    const member = { scope: 'organization', partnerId, orgId: orgIds[0] } as const;
    const ofSite = await testApp.clientFor({ ...member, siteIds: [siteIds[0]] });
    const deviceIds = [own, other];
    expect(outcomes(await send('tags', { deviceIds, add: ['x'] }, ofSite))).toEqual(['changed', 'site_access_denied']);
    expect((await send('site', { deviceIds, siteId: null }, ofSite)).code).toBe('site_access_denied');
    expect((await send('group', { deviceIds, groupId: await groupOf(), action: 'add' }, ofSite)).code).toBe(
      'site_access_denied',
    );
    expect(outcomes(await send('decommission', { deviceIds }, ofSite))).toEqual(['changed', 'site_access_denied']);
    const ofGroup = await testApp.clientFor({ ...member, deviceGroupIds: [await groupOf()] });
    expect(outcomes(await send('tags', { deviceIds: [other], add: ['x'] }, ofGroup))).toEqual(['site_access_denied']);
  });

  it('finds no device of another tenant', async () => {
    const id = await device();
    const stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    expect(outcomes(await send('tags', { deviceIds: [id], add: ['x'] }, stranger))).toEqual(['not_found']);
    expect(outcomes(await send('decommission', { deviceIds: [id] }, stranger))).toEqual(['not_found']);
    expect((await send('site', { deviceIds: [id], siteId: siteIds[0] }, stranger)).details.fieldErrors).toHaveProperty(
      'siteId',
    );
    expect(await rowOf(id)).toEqual({ tags: [], site_id: null, version: 1 });
  });

  it('returns 403 without the permission and 400 for malformed bodies', async () => {
    const deviceIds = [await device()];
    const writer = await testApp.clientFor({ partnerId, permissions: ['devices:write'] });
    expect((await send('decommission', { deviceIds }, writer)).required).toEqual(['devices:delete']);
    const reader = await testApp.clientFor({ partnerId, permissions: ['devices:read'] });
    for (const action of ['tags', 'site', 'group']) {
      expect((await send(action, { deviceIds }, reader)).required).toEqual(['devices:write']);
    }
    for (const [action, body] of [
      ['tags', { deviceIds }],
      ['tags', { deviceIds: [], add: ['x'] }],
      ['tags', { deviceIds: ['x'], add: ['x'] }],
      ['site', { deviceIds }],
      ['group', { deviceIds, groupId: 'x', action: 'move' }],
    ] as const) {
      expect((await send(action, body)).code).toBe('validation_failed');
    }
  });
});
