import { AGENTS, recordedReport, REPORTS, storedColumns } from '../../../test/agent-reports.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

const TABLES = {
  hardware: 'device_hardware',
  software: 'device_software',
  disks: 'device_disk',
  network: 'device_network',
  posture: 'device_posture',
} as const;
type Report = (typeof REPORTS)[number];

describe('PUT /agents/:id/hardware, software, disks, network, management/posture', () => {
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

  const enrolled = async (more: object = {}) => {
    const enrollmentKey = testApp.credentials.mint({ orgId, partnerId });
    const os = { osType: 'linux', osVersion: '13', architecture: 'arm64' };
    const response = await testApp.client().post('/agents/enroll', { enrollmentKey, hostname: 'h', ...os, ...more });
    expect(response.status).toBe(201);
    const { agentId, deviceId, authToken } = response.body as Record<string, string>;
    const client = testApp.client(authToken);
    const put = (report: Report, body: object) => client.put(pathOf(agentId, report), body);
    return { agentId, deviceId, client, put };
  };
  const pathOf = (agentId: string, report: Report) =>
    `/agents/${agentId}/${report === 'posture' ? 'management/posture' : report}`;
  const rowOf = async (report: Report, deviceId: string) =>
    (
      await testApp.admin.query(`SELECT *, xmin::text AS written_by FROM ${TABLES[report]} WHERE device_id = $1`, [
        deviceId,
      ])
    ).rows[0];
  /** The columns of a report as JSON, and those that each report has. */
  const storedOf = async (report: Report, id: string) => {
    const { device_id, content_hash, created_at, updated_at, ...columns } = await rowOf(report, id);
    delete columns.written_by;
    delete columns.partner_id;
    delete columns.org_id;
    if (report === 'posture') columns.products = await productsOf(id);
    const written = { device_id, content_hash, created_at, updated_at };
    return { columns: JSON.parse(JSON.stringify(columns)) as object, written };
  };
  const productsOf = async (deviceId: string) =>
    (
      await testApp.admin.query(
        `SELECT category, name, version, status, service_name AS "serviceName", details FROM device_posture_product
          WHERE device_id = $1 ORDER BY category, name`,
        [deviceId],
      )
    ).rows;

  it.each(AGENTS.flatMap((agent) => REPORTS.map((report) => [agent, report] as const)))(
    'stores what the %s agent reports as its %s',
    async (agent, report) => {
      const { deviceId, put } = await enrolled();
      const response = await put(report, recordedReport(agent, report));
      expect([response.status, response.body]).toEqual([200, { success: true }]);
      const { columns, written } = await storedOf(report, deviceId);
      expect(written).toEqual({
        device_id: deviceId,
        content_hash: expect.any(Buffer),
        created_at: written.updated_at,
        updated_at: expect.any(Date),
      });
      expect(columns).toEqual(storedColumns(agent, report));
    },
  );

  it('replaces a report as a whole', async () => {
    const { deviceId, put } = await enrolled({ hardwareInfo: { cpuModel: 'i7', cpuCores: 8 } });
    await put('hardware', { serialNumber: 'SN-1234' }).expect(200);
    const replaced = { hardware: { serialNumber: 'SN-1234' }, serial_key: 'SN1234' };
    expect(await rowOf('hardware', deviceId)).toMatchObject(replaced);
    await put('software', { software: [{ name: 'A' }, { name: 'B' }] }).expect(200);
    await put('software', { software: null }).expect(200);
    expect(await rowOf('software', deviceId)).toMatchObject({ software: [], total: 0 });
    const shown = await (await testApp.clientFor({ partnerId })).get(`/devices/${deviceId}`);
    expect(shown.body.hardware).toEqual({ serialNumber: 'SN-1234' });
  });

  it.each(REPORTS)('writes nothing when the %s stays the same', async (report) => {
    const { deviceId, put } = await enrolled();
    const body = recordedReport('go', report);
    await put(report, body).expect(200);
    const before = await rowOf(report, deviceId);
    await put(report, { ...body, aNewField: 1 }).expect(200);
    expect(await rowOf(report, deviceId)).toEqual(before);
  });

  it('writes nothing when the agent reports the hardware that it enrolled with', async () => {
    const hardwareInfo = { cpuCores: '8', serialNumber: 'SN-9', gpuModel: null };
    const { deviceId, put } = await enrolled({ hardwareInfo });
    const before = await rowOf('hardware', deviceId);
    await put('hardware', { serialNumber: 'SN-9', cpuCores: 8 }).expect(200);
    expect(await rowOf('hardware', deviceId)).toEqual(before);
  });

  it('stamps the changed report for exports, and with its hardware the device', async () => {
    const { deviceId, put } = await enrolled();
    const stampOf = async (table: string, key: string) =>
      (await testApp.admin.query(`SELECT updated_at FROM ${table} WHERE ${key} = $1`, [deviceId])).rows[0].updated_at;
    const deviceStamp = await stampOf('device', 'id');
    await put('software', { software: [{ name: 'A' }] }).expect(200);
    const first = await stampOf('device_software', 'device_id');
    await put('software', { software: [{ name: 'B' }] }).expect(200);
    expect((await stampOf('device_software', 'device_id')).getTime()).toBeGreaterThan(first.getTime());
    expect(await stampOf('device', 'id')).toEqual(deviceStamp);
    await put('hardware', { cpuCores: 4 }).expect(200);
    expect((await stampOf('device', 'id')).getTime()).toBeGreaterThan(deviceStamp.getTime());
  });

  it('stores the first 1,000 of many programs and their number', async () => {
    const { deviceId, put } = await enrolled();
    const software = Array.from({ length: 1_500 }, (_, n) => ({ name: `Program ${n}` }));
    await put('software', { software }).expect(200);
    const { rows } = await testApp.admin.query(
      'SELECT total, jsonb_array_length(software) AS stored FROM device_software WHERE device_id = $1',
      [deviceId],
    );
    expect(rows).toEqual([{ total: 1_500, stored: 1_000 }]);
  });

  it.each<[Report, object, string]>([
    ['hardware', { cpuCores: 'many' }, 'cpuCores'],
    ['hardware', [], 'body'],
    ['software', {}, 'software'],
    ['software', { software: [{ name: 'A' }, { version: '1' }] }, 'software.1.name'],
    ['software', { software: Array.from({ length: 20_001 }, () => ({ name: 'A' })) }, 'software'],
    ['disks', { disks: [{ mountPoint: '/', totalGb: 'large' }] }, 'disks.0.totalGb'],
    ['disks', { disks: Array.from({ length: 501 }, () => ({ mountPoint: '/' })) }, 'disks'],
    ['network', { adapters: [{ interfaceName: 'eth0', dnsServers: Array(21).fill('::1') }] }, 'adapters.0.dnsServers'],
    ['posture', { categories: {} }, 'collectedAt'],
    ['posture', { collectedAt: '2026-01-01T00:00:00Z' }, 'categories'],
    ['posture', { collectedAt: '2026-01-01T00:00:00', categories: {} }, 'collectedAt'],
    [
      'posture',
      { collectedAt: '2026-01-01T00:00:00Z', categories: { rmm: [{ name: 'A', status: 'off' }] } },
      'categories.rmm.0.status',
    ],
  ])('returns 400 for a malformed %s report %#', async (report, body, path) => {
    const { deviceId, put } = await enrolled();
    const refused = await put(report, body);
    expect([refused.status, refused.body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(refused.body.details.fieldErrors)).toEqual([path]);
    expect(await rowOf(report, deviceId)).toBeUndefined();
  });

  it('returns 413 for a body above 5 MB, 400 for malformed JSON and 415 for another type', async () => {
    const { agentId, client, put } = await enrolled();
    const vendor = 'x'.repeat(255);
    const software = Array.from({ length: 5_000 }, (_, n) => ({ name: `Program ${n}`, vendor }));
    await put('software', { software }).expect(200); // more than the 1 MB of other bodies
    expect((await put('hardware', { text: 'x'.repeat(5 * 1024 * 1024) })).status).toBe(413);
    const malformed = await client.put(pathOf(agentId, 'disks'), '{"disks": [' as never).type('json');
    expect([malformed.status, malformed.body.code]).toEqual([400, 'malformed_json']);
    expect((await client.put(pathOf(agentId, 'disks'), 'a=b' as never).type('form')).status).toBe(415);
  });

  it.each(REPORTS)('returns 404 for the %s of another agent and 401 for a dead or foreign token', async (report) => {
    const [one, other] = [await enrolled(), await enrolled()];
    const body = recordedReport('go', report);
    const foreign = await one.client.put(pathOf(other.agentId, report), body);
    expect([foreign.status, foreign.body.code]).toEqual([404, 'not_found']);
    expect((await one.client.put(pathOf('none', report), body)).status).toBe(404);
    const user = await testApp.clientFor({ partnerId });
    for (const client of [testApp.client(), testApp.client('agt_unknown'), user]) {
      expect((await client.put(pathOf(one.agentId, report), body)).status).toBe(401);
    }
    await one.put(report, body).expect(200); // its token is cached
    await testApp.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [one.deviceId]);
    expect((await one.put(report, body)).status).toBe(401);
    expect(await rowOf(report, other.deviceId)).toBeUndefined();
  });

  it('limits the reports and heartbeats of one agent together', async () => {
    const { agentId, client, put } = await enrolled();
    for (let count = 0; count < 60; count += 1) {
      await put('hardware', { cpuCores: 4 }).expect(200);
      await client.post(`/agents/${agentId}/heartbeat`).expect(200);
    }
    const refused = await put('hardware', { cpuCores: 4 });
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('leaves the products of one of several reports that arrive at the same time', async () => {
    const { deviceId, agentId, client } = await enrolled();
    const report = (n: number) => ({
      collectedAt: new Date(Date.now() - n * 86_400_000).toISOString(),
      categories: {
        rmm: [{ name: `Tool ${n % 3}`, status: 'active' }],
        mdm: [{ name: `MDM ${n % 3}`, status: 'active' }],
      },
    });
    for (let round = 0; round < 5; round += 1) {
      const both = [0, 1].map((n) => client.put(pathOf(agentId, 'posture'), report(round + n)));
      expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
      const products = (await productsOf(deviceId)).map(({ category, name, status }) => [category, name, status]);
      expect(products).toHaveLength(2);
      expect(products.toSorted()).toEqual((await rowOf('posture', deviceId)).detections.toSorted());
    }
  });

  it('takes a scan of the future for one of now', async () => {
    const { deviceId, put } = await enrolled();
    const collectedAt = new Date(Date.now() + 86_400_000).toISOString();
    await put('posture', { collectedAt, categories: {} }).expect(200);
    expect((await rowOf('posture', deviceId)).collected_at.getTime()).toBeLessThan(
      Date.parse(collectedAt) - 86_000_000,
    );
  });

  it('does not write audit entries', async () => {
    const { agentId, put } = await enrolled();
    await put('disks', { disks: [] }).expect(200);
    const entries = testApp.received.filter(({ data }) => (data as { actorId?: string }).actorId === agentId);
    expect(entries.filter(({ type }) => !type.includes('enroll'))).toEqual([]);
  });
});
