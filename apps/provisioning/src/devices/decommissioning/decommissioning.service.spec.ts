import { randomUUID } from 'node:crypto';
import { mintAgentToken } from '@rmm/secrets';
import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

describe('DELETE /devices/:id', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let client: Client;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner({ maxDevices: 2 });
    client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
  });
  afterAll(() => testApp?.stop());
  beforeEach(async () => {
    await testApp.admin.query('DELETE FROM device');
  });

  const insert = (values: object = {}) =>
    insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, ...values });
  const remove = (id: string, as = client) => as.delete(`/devices/${id}`);
  const enroll = () => {
    const enrollmentKey = testApp.credentials.mint({ orgId, partnerId });
    const body = { enrollmentKey, hostname: 'pc', osType: 'linux', osVersion: '6', architecture: 'amd64' };
    return testApp.client().post('/agents/enroll', body);
  };

  it('refuses the agent at once, keeps the record and publishes the event', async () => {
    const { key, keyHash } = mintAgentToken();
    const id = await insert({ agent_token_hash: keyHash, hostname: 'alpha' });
    const { rows } = await testApp.admin.query('SELECT agent_id FROM device WHERE id = $1', [id]);
    const sendHeartbeat = () => testApp.client(key).post(`/agents/${rows[0].agent_id}/heartbeat`);
    expect((await sendHeartbeat()).status).toBe(200);
    const response = await remove(id);
    expect([response.status, response.body]).toEqual([200, { success: true }]);
    expect((await sendHeartbeat()).status).toBe(401);
    expect((await client.get(`/devices/${id}`)).body).toMatchObject({ id, status: 'decommissioned', groupIds: [] });
    expect((await client.get('/devices')).body.data).toEqual([]);
    const about = ({ aggregateId }: { aggregateId: string }) => aggregateId === id;
    const event = await testApp.waitForMessage('device.decommissioned', about);
    expect(event).toMatchObject({ orgId, partnerId, aggregateVersion: 2 });
    expect(event.data).toEqual({ deviceId: id, hostname: 'alpha', decommissionedBy: event.actor?.id });
    const entry = await testApp.waitForMessage('device.decommission', about);
    expect(entry.data).toMatchObject({ resourceId: id, resourceName: 'alpha', result: 'success' });
  });

  it('ends the memberships in device groups', async () => {
    const id = await insert();
    const group = await testApp.admin.query(
      `INSERT INTO device_group (partner_id, org_id, name, name_key) VALUES ($1, $2, 'G', $3) RETURNING id`,
      [partnerId, orgId, randomUUID()],
    );
    await testApp.admin.query(
      'INSERT INTO device_group_member (group_id, device_id, partner_id, org_id) VALUES ($1, $2, $3, $4)',
      [group.rows[0].id, id, partnerId, orgId],
    );
    await remove(id);
    expect((await testApp.admin.query('SELECT * FROM device_group_member')).rows).toEqual([]);
  });

  it('frees the device cap, which parallel enrollments cannot exceed', async () => {
    const first = await insert();
    const burst = async () => (await Promise.all(Array.from({ length: 8 }, enroll))).map(({ status }) => status).sort();
    expect(await burst()).toEqual([201, 403, 403, 403, 403, 403, 403, 403]);
    await remove(first);
    expect(await burst()).toEqual([201, 403, 403, 403, 403, 403, 403, 403]);
  });

  it('decommissions once under 20 parallel requests', async () => {
    const id = await insert();
    const responses = await Promise.all(Array.from({ length: 20 }, () => remove(id)));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    const { rows } = await testApp.admin.query(
      'SELECT d.version::int AS version, c.devices FROM device d JOIN organization_count c USING (org_id) WHERE d.id = $1',
      [id],
    );
    expect(rows).toEqual([{ version: 2, devices: 0 }]);
    await testApp.waitForMessage('device.decommissioned', ({ aggregateId }) => aggregateId === id);
    const events = testApp.received.filter(
      ({ type, aggregateId }) => type === 'device.decommissioned' && aggregateId === id,
    );
    expect(events).toHaveLength(1);
  });

  it('returns 403 without the permission or outside of the sites of the caller', async () => {
    const id = await insert();
    const writer = await testApp.clientFor({ partnerId, permissions: ['devices:write'] });
    expect((await remove(id, writer)).body.code).toBe('permission_denied');
    const member = { scope: 'organization', partnerId, orgId } as const;
    for (const restriction of [{ siteIds: [randomUUID()] }, { deviceGroupIds: [randomUUID()] }]) {
      const restricted = await testApp.clientFor({ ...member, ...restriction });
      expect((await remove(id, restricted)).body.code).toBe('site_access_denied');
    }
    expect((await client.get(`/devices/${id}`)).body.status).toBe('online');
  });

  it('returns 404 to another tenant and for a malformed id', async () => {
    const id = await insert();
    const stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    expect((await remove(id, stranger)).status).toBe(404);
    for (const unknown of [randomUUID(), 'x']) expect((await remove(unknown)).status).toBe(404);
    expect((await client.get(`/devices/${id}`)).body.status).toBe('online');
  });
});
