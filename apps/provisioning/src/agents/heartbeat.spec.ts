import { ProvisioningUnderTest } from '../../test/provisioning-under-test.js';

describe('POST /agents/:id/heartbeat', () => {
  let service: ProvisioningUnderTest;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    service = await ProvisioningUnderTest.start();
    partnerId = await service.partner();
    const client = await service.as({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
  }, 60_000);
  afterAll(() => service?.stop());

  const enrolled = async () => {
    const enrollmentKey = service.credentials.mint({ orgId, partnerId });
    const body = {
      enrollmentKey,
      hostname: 'h',
      osType: 'linux',
      osVersion: '13',
      architecture: 'arm64',
      agentVersion: '1.0',
    };
    const answer = await service.client().post('/agents/enroll', body);
    const { agentId, deviceId, authToken } = answer.body as Record<string, string>;
    return { agentId, deviceId, client: service.client(authToken) };
  };
  const eventsOf = (deviceId: string) =>
    service.heard.filter(
      (envelope) => envelope.aggregateId === deviceId && /^device\.(online|updated)$/.test(envelope.type),
    );

  it('brings the device online once, and keeps what the agent says', async () => {
    const { agentId, deviceId, client } = await enrolled();
    const beat = { agentVersion: '1.0', uptimeSeconds: 12, metrics: { cpuPercent: 3.5 }, ofANewerAgent: true };
    for (let count = 0; count < 3; count += 1) {
      const answer = await client.post(`/agents/${agentId}/heartbeat`, beat);
      expect([answer.status, answer.body]).toEqual([
        200,
        { success: true, config: { heartbeatIntervalSeconds: 60, metricsCollectionIntervalSeconds: 30 }, commands: [] },
      ]);
    }
    const shown = await (await service.as({ partnerId })).get(`/devices/${deviceId}`);
    expect(shown.body).toMatchObject({ status: 'online', metrics: { cpuPercent: 3.5, uptimeSeconds: 12 } });
    expect(Date.parse(shown.body.lastSeenAt)).toBeGreaterThan(0);
    const online = await service.hears('device.online', (envelope) => envelope.aggregateId === deviceId);
    expect(online).toMatchObject({
      orgId,
      partnerId,
      data: { deviceId, hostname: 'h', agentVersion: '1.0', status: 'online' },
    });
    await client.post(`/agents/${agentId}/heartbeat`, { agentVersion: '1.1' });
    const updated = await service.hears('device.updated', (envelope) => envelope.aggregateId === deviceId);
    expect(updated.data).toEqual({ deviceId, hostname: 'h', fields: ['agentVersion'], agentVersion: '1.1' });
    expect(eventsOf(deviceId).map((envelope) => envelope.type)).toEqual(['device.online', 'device.updated']);
  });

  it('does not count as an update of the exported record', async () => {
    const { agentId, deviceId, client } = await enrolled();
    const stamp = async () =>
      (
        await service.admin.query('select updated_at from device where id = $1', [deviceId])
      ).rows[0].updated_at.getTime();
    const before = await stamp();
    await client.post(`/agents/${agentId}/heartbeat`, { metrics: { cpuPercent: 1 } });
    expect(await stamp()).toBe(before);
    await client.post(`/agents/${agentId}/heartbeat`, { osVersion: '14' });
    expect(await stamp()).toBeGreaterThanOrEqual(before);
    const { rows } = await service.admin.query('select os_version from device where id = $1', [deviceId]);
    expect(rows[0].os_version).toBe('14');
  });

  it('leaves a device in maintenance where it is', async () => {
    const { agentId, deviceId, client } = await enrolled();
    await service.admin.query(`update device set status = 'maintenance' where id = $1`, [deviceId]);
    expect((await client.post(`/agents/${agentId}/heartbeat`)).status).toBe(200);
    const { rows } = await service.admin.query('select status from device where id = $1', [deviceId]);
    expect(rows[0].status).toBe('maintenance');
  });

  it("is 404 for another agent's id, 401 for a dead, foreign or missing token", async () => {
    const [one, other] = [await enrolled(), await enrolled()];
    const foreign = await one.client.post(`/agents/${other.agentId}/heartbeat`);
    expect([foreign.status, foreign.body.code]).toEqual([404, 'not_found']);
    const person = await service.as({ partnerId });
    for (const client of [service.client(), service.client('agt_unknown'), person]) {
      expect((await client.post(`/agents/${one.agentId}/heartbeat`)).status).toBe(401);
    }
    const gone = await enrolled();
    await service.admin.query(`update device set status = 'decommissioned' where id = $1`, [gone.deviceId]);
    expect((await gone.client.post(`/agents/${gone.agentId}/heartbeat`)).status).toBe(401);
  });

  it('refuses malformed reports', async () => {
    const { agentId, client } = await enrolled();
    const refused = await client.post(`/agents/${agentId}/heartbeat`, { uptimeSeconds: '1', metrics: [] });
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.details.fieldErrors).sort()).toEqual(['metrics', 'uptimeSeconds']);
  });
});
