import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

describe('POST /agents/:id/heartbeat', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
  });
  afterAll(() => testApp?.stop());

  const enrolled = async () => {
    const enrollmentKey = testApp.credentials.mint({ orgId, partnerId });
    const body = {
      enrollmentKey,
      hostname: 'h',
      osType: 'linux',
      osVersion: '13',
      architecture: 'arm64',
      agentVersion: '1.0',
    };
    const response = await testApp.client().post('/agents/enroll', body);
    const { agentId, deviceId, authToken } = response.body as Record<string, string>;
    return { agentId, deviceId, client: testApp.client(authToken) };
  };
  const eventsOf = (deviceId: string) =>
    testApp.received.filter(
      (envelope) => envelope.aggregateId === deviceId && /^device\.(online|updated)$/.test(envelope.type),
    );

  it('sets the device online once and stores the reported state', async () => {
    const { agentId, deviceId, client } = await enrolled();
    const heartbeat = { agentVersion: '1.0', uptimeSeconds: 12, metrics: { cpuPercent: 3.5 }, ofANewerAgent: true };
    for (let count = 0; count < 3; count += 1) {
      const response = await client.post(`/agents/${agentId}/heartbeat`, heartbeat);
      expect([response.status, response.body]).toEqual([
        200,
        { success: true, config: { heartbeatIntervalSeconds: 60, metricsCollectionIntervalSeconds: 30 }, commands: [] },
      ]);
    }
    const shown = await (await testApp.clientFor({ partnerId })).get(`/devices/${deviceId}`);
    expect(shown.body).toMatchObject({ status: 'online', metrics: { cpuPercent: 3.5, uptimeSeconds: 12 } });
    expect(Date.parse(shown.body.lastSeenAt)).toBeGreaterThan(0);
    const online = await testApp.waitForMessage('device.online', (envelope) => envelope.aggregateId === deviceId);
    expect(online).toMatchObject({
      orgId,
      partnerId,
      data: { deviceId, hostname: 'h', agentVersion: '1.0', status: 'online' },
    });
    await client.post(`/agents/${agentId}/heartbeat`, { agentVersion: '1.1' });
    const updated = await testApp.waitForMessage('device.updated', (envelope) => envelope.aggregateId === deviceId);
    expect(updated.data).toEqual({ deviceId, hostname: 'h', fields: ['agentVersion'], agentVersion: '1.1' });
    expect(eventsOf(deviceId).map((envelope) => envelope.type)).toEqual(['device.online', 'device.updated']);
  });

  it('does not change updatedAt of the exported record', async () => {
    const { agentId, deviceId, client } = await enrolled();
    const stamp = async () =>
      (
        await testApp.admin.query('select updated_at from device where id = $1', [deviceId])
      ).rows[0].updated_at.getTime();
    const before = await stamp();
    await client.post(`/agents/${agentId}/heartbeat`, { metrics: { cpuPercent: 1 } });
    expect(await stamp()).toBe(before);
    await client.post(`/agents/${agentId}/heartbeat`, { osVersion: '14' });
    expect(await stamp()).toBeGreaterThanOrEqual(before);
    const { rows } = await testApp.admin.query('select os_version from device where id = $1', [deviceId]);
    expect(rows[0].os_version).toBe('14');
  });

  it('keeps the status of a device in maintenance', async () => {
    const { agentId, deviceId, client } = await enrolled();
    await testApp.admin.query(`update device_state set status = 'maintenance' where device_id = $1`, [deviceId]);
    expect((await client.post(`/agents/${agentId}/heartbeat`)).status).toBe(200);
    const { rows } = await testApp.admin.query('select status from device_state where device_id = $1', [deviceId]);
    expect(rows[0].status).toBe('maintenance');
  });

  it('returns 404 for the id of another agent and 401 for a revoked, foreign or missing token', async () => {
    const [one, other] = [await enrolled(), await enrolled()];
    const foreign = await one.client.post(`/agents/${other.agentId}/heartbeat`);
    expect([foreign.status, foreign.body.code]).toEqual([404, 'not_found']);
    const user = await testApp.clientFor({ partnerId });
    for (const client of [testApp.client(), testApp.client('agt_unknown'), user]) {
      expect((await client.post(`/agents/${one.agentId}/heartbeat`)).status).toBe(401);
    }
    const gone = await enrolled();
    await testApp.admin.query('update device set decommissioned_at = now() where id = $1', [gone.deviceId]);
    expect((await gone.client.post(`/agents/${gone.agentId}/heartbeat`)).status).toBe(401);
  });

  it('returns 400 for a malformed report', async () => {
    const { agentId, client } = await enrolled();
    const refused = await client.post(`/agents/${agentId}/heartbeat`, { uptimeSeconds: '1', metrics: [] });
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.details.fieldErrors).sort()).toEqual(['metrics', 'uptimeSeconds']);
    const large = await client.post(`/agents/${agentId}/heartbeat`, { metrics: { text: 'x'.repeat(16_384) } });
    expect([large.status, Object.keys(large.body.details.fieldErrors)]).toEqual([400, ['metrics']]);
  });
});
