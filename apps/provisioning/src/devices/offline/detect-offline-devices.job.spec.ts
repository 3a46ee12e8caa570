import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';
import { DetectOfflineDevicesJob } from './detect-offline-devices.job.js';

describe('DetectOfflineDevicesJob', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    orgId = (await (await testApp.clientFor({ partnerId })).post('/orgs/organizations', { name: 'Acme' })).body.id;
  });
  afterAll(() => testApp?.stop());

  const eventsOf = (deviceId: string) =>
    testApp.received.filter(
      ({ aggregateId, type }) => aggregateId === deviceId && ['device.online', 'device.offline'].includes(type),
    );

  it('publishes device.offline once per device under two replicas, and device.online once on its return', async () => {
    const replica = await testApp.startReplica();
    try {
      const key = testApp.credentials.mint({ orgId, partnerId });
      const agent = { enrollmentKey: key, hostname: 'h', osType: 'linux', osVersion: '13', architecture: 'arm64' };
      const enrolled = (await testApp.client().post('/agents/enroll', agent)).body;
      const sendHeartbeat = async () => {
        const client = testApp.client(enrolled.authToken);
        expect((await client.post(`/agents/${enrolled.agentId}/heartbeat`)).status).toBe(200);
      };
      await Promise.all([sendHeartbeat(), sendHeartbeat(), sendHeartbeat()]);
      const silent = { last_seen_at: new Date(Date.now() - 301_000), offline_check_at: new Date() };
      const others: string[] = [];
      for (let n = 0; n < 30; n += 1) {
        others.push(await insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, ...silent }));
      }
      await testApp.admin.query(
        'UPDATE device_state SET last_seen_at = $2, offline_check_at = $3 WHERE device_id = $1',
        [enrolled.deviceId, silent.last_seen_at, silent.offline_check_at],
      );

      const jobs = [testApp.app, replica].map((app) => app.get(DetectOfflineDevicesJob));
      await Promise.all([...jobs, ...jobs].map((job) => job.run()));
      for (const deviceId of [enrolled.deviceId, ...others]) {
        const event = await testApp.waitForMessage('device.offline', (each) => each.aggregateId === deviceId);
        expect(event).toMatchObject({ orgId, partnerId, data: { deviceId, lastSeenAt: expect.any(String) } });
      }
      const client = await testApp.clientFor({ partnerId });
      expect((await client.get(`/devices/${enrolled.deviceId}`)).body.status).toBe('offline');

      await Promise.all([sendHeartbeat(), sendHeartbeat(), sendHeartbeat()]);
      await Promise.all(jobs.map((job) => job.run()));
      await testApp.waitForMessage(
        'device.online',
        ({ aggregateId, aggregateVersion }) => aggregateId === enrolled.deviceId && aggregateVersion === 4,
      );
      expect(eventsOf(enrolled.deviceId).map(({ type }) => type)).toEqual([
        'device.online',
        'device.offline',
        'device.online',
      ]);
      for (const deviceId of others) expect(eventsOf(deviceId)).toHaveLength(1);
    } finally {
      await replica.close();
    }
  });
});
