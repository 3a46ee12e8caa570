import { randomUUID } from 'node:crypto';
import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  partnerWithMfa,
  type ApiResponse,
} from '@rmm/testing';
import { enrollmentKey, must } from '../steps.js';

const SUMMARY = '/devices/management-posture/summary';
const DEVICES = '/devices/management-posture/devices';
const DAY_MS = 86_400_000;
const SOFTWARE = { software: [{ name: 'Editor', version: '1.2', installDate: '20260131' }], sentByNewerAgents: true };
const NETWORK = { adapters: { interfaceName: 'Ethernet', macAddress: 'A4-BB-6D-00-33-44', isPrimary: 'True' } };

describe('the inventory and posture of a device', () => {
  const fleet = connectToFleet();

  const enroll = async (client: ApiClient, orgId: string, siteId?: string) => {
    const key = await enrollmentKey(client, orgId, siteId ? { siteId } : {});
    const enrolled = must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(key)), 201);
    const { agentId, deviceId, authToken } = enrolled as Record<string, string>;
    const agent = new ApiClient(fleet.baseUrl).as({ bearer: authToken });
    const put = (report: string, body: object, id = agentId): Promise<ApiResponse> =>
      agent.put(`/agents/${id}/${report}`, body);
    return { agentId, deviceId, put };
  };
  const posture = (names: string[], daysAgo = 0) => ({
    collectedAt: new Date(Date.now() - daysAgo * DAY_MS).toISOString(),
    scanDurationMs: 900,
    categories: { rmm: names.map((name) => ({ name, version: '4.4', status: 'active' })) },
    identity: { joinType: 'none', azureAdJoined: false, domainJoined: false, workplaceJoined: false, source: 'spec' },
  });

  it('is reported by its agent, read with the device, and replaced by the next report', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const { deviceId, put } = await enroll(client, orgId);
    expect(must(await put('hardware', { cpuModel: 'i7', cpuCores: '8', ramTotalMb: null }), 200)).toEqual({
      success: true,
    });
    for (const [report, body] of Object.entries({ software: SOFTWARE, disks: { disks: [] }, network: NETWORK })) {
      expect(must(await put(report, body), 200)).toEqual({ success: true });
      expect(must(await put(report, body), 200)).toEqual({ success: true });
    }
    expect(must(await client.get(`/devices/${deviceId}`), 200).hardware).toEqual({ cpuModel: 'i7', cpuCores: 8 });
    must(await put('hardware', { serialNumber: 'SN-1' }), 200);
    expect(must(await client.get(`/devices/${deviceId}`), 200).hardware).toEqual({ serialNumber: 'SN-1' });
  });

  it('is refused when it is malformed, of another agent, or sent with a dead token', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const [one, other] = [await enroll(client, orgId), await enroll(client, orgId)];
    const malformed = await one.put('software', { software: [{ version: '1' }] });
    expect([malformed.status, malformed.body.details.fieldErrors]).toEqual([
      400,
      { 'software.0.name': ['is required'] },
    ]);
    for (const report of ['hardware', 'software', 'disks', 'network', 'management/posture']) {
      expect((await one.put(report, SOFTWARE, other.agentId)).status).toBe(404);
      expect((await client.put(`/agents/${one.agentId}/${report}`, SOFTWARE)).status).toBe(401);
    }
    must(await client.delete(`/devices/${one.deviceId}`), 200);
    expect((await one.put('software', SOFTWARE)).status).toBe(401);
    expect((await one.put('management/posture', posture([]))).status).toBe(401);
  });

  it('is summed up by product, with stale, clean and unknown devices apart', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const tool = `Tool ${randomUUID()}`;
    const [found, stale, clean, ended] = [
      await enroll(client, orgId),
      await enroll(client, orgId),
      await enroll(client, orgId),
      await enroll(client, orgId),
    ];
    await enroll(client, orgId); // never scanned
    must(await found.put('management/posture', posture([tool])), 200);
    must(await stale.put('management/posture', posture([tool], 8)), 200);
    must(await clean.put('management/posture', posture([])), 200);
    must(await ended.put('management/posture', posture([tool])), 200);
    must(await client.delete(`/devices/${ended.deviceId}`), 200);

    const counts = {
      ...{ totalDevices: 4, neverScanned: 1, stale: 1, scannedNoneDetected: 1 },
      ...{ detectedDevices: 2, freshDetectedDevices: 1 },
    };
    const products = [{ product: tool, status: 'active', deviceCount: 2, freshDeviceCount: 1 }];
    const summary = must(await client.get(`${SUMMARY}?orgId=${orgId}`), 200).data;
    expect(summary).toMatchObject({ category: 'rmm', stalenessDays: 7, totals: counts });
    expect(summary.orgs).toEqual([{ orgId, ...counts, products }]);
    const patient = must(await client.get(`${SUMMARY}?orgId=${orgId}&stalenessDays=365`), 200).data;
    expect(patient.totals).toMatchObject({ stale: 0, freshDetectedDevices: 2 });

    const listed = must(await client.get(`${DEVICES}?product=${encodeURIComponent(tool)}&limit=500`), 200).data;
    const ids = (listed.devices as { id: string }[]).map(({ id }) => id);
    expect([listed.total, ids.sort()]).toEqual([2, [found.deviceId, stale.deviceId].sort()]);
    expect(listed.devices[0]).toMatchObject({ orgId, detectionStatus: 'active', detectionVersion: '4.4' });

    const foreign = (await partnerWithMfa(fleet)).client;
    expect((await foreign.get(`${SUMMARY}?orgId=${orgId}`)).status).toBe(403);
    expect(must(await foreign.get(`${DEVICES}?product=${encodeURIComponent(tool)}`), 200).data.total).toBe(0);
    expect((await client.get(`${SUMMARY}?category=antivirus`)).status).toBe(400);
  });

  it('is counted right when the agents of an organization report at the same time', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const key = await enrollmentKey(client, orgId, { maxUsage: 8 });
    const agents: { put: (body: object) => Promise<ApiResponse> }[] = [];
    for (let n = 0; n < 8; n += 1) {
      const enrolled = must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(key)), 201);
      const agent = new ApiClient(fleet.baseUrl).as({ bearer: enrolled.authToken as string });
      agents.push({ put: (body) => agent.put(`/agents/${enrolled.agentId}/management/posture`, body) });
    }
    for (const names of [['A'], ['A', 'B'], [], ['B']]) {
      const responses = await Promise.all(agents.map(({ put }, n) => put(posture(names, n))));
      for (const response of responses) must(response, 200);
    }
    const { totals, orgs } = must(await client.get(`${SUMMARY}?orgId=${orgId}&stalenessDays=30`), 200).data;
    expect(totals).toMatchObject({ totalDevices: 8, neverScanned: 0, detectedDevices: 8, freshDetectedDevices: 8 });
    expect(orgs[0].products).toEqual([{ product: 'B', status: 'active', deviceCount: 8, freshDeviceCount: 8 }]);
  });
});
