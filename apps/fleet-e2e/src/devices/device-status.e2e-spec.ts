import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  eventually,
  partnerWithMfa,
  WebhookReceiver,
} from '@rmm/testing';
import { createWebhook, enrollmentKey, must, readAll } from '../steps.js';

/** The fleet of the specs runs with DEVICE_OFFLINE_AFTER_SECONDS=60; a sweep runs every 5 seconds. */
const OFFLINE_WITHIN_MS = 90_000;

describe('a device', () => {
  const fleet = connectToFleet();
  const receiver = new WebhookReceiver();
  afterAll(() => receiver.stop());

  const enroll = async (client: ApiClient, orgId: string) => {
    const key = await enrollmentKey(client, orgId);
    const enrolled = must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(key)), 201);
    const agent = new ApiClient(fleet.baseUrl).as({ bearer: enrolled.authToken as string });
    const sendHeartbeat = async (body: object = {}) =>
      must(await agent.post(`/agents/${enrolled.agentId}/heartbeat`, body), 200);
    return { deviceId: enrolled.deviceId as string, sendHeartbeat };
  };

  it(
    'goes online with a heartbeat, offline without one, and online again, with one event for each change',
    async () => {
      const { client } = await partnerWithMfa(fleet);
      const { orgId } = await createOrganization(client);
      const events = ['device.online', 'device.offline'];
      await createWebhook(client, orgId, { url: await receiver.start(), events });
      const { deviceId, sendHeartbeat } = await enroll(client, orgId);
      const statusOf = async () => must(await client.get(`/devices/${deviceId}`), 200).status as string;
      expect(await statusOf()).toBe('offline');

      await Promise.all([sendHeartbeat(), sendHeartbeat(), sendHeartbeat()]);
      expect(await statusOf()).toBe('online');
      const [offline] = await receiver.waitFor('device.offline', 1, OFFLINE_WITHIN_MS);
      expect(offline?.body).toMatchObject({ orgId, data: { deviceId, lastSeenAt: expect.any(String) } });
      expect(await statusOf()).toBe('offline');

      await Promise.all([sendHeartbeat(), sendHeartbeat()]);
      await receiver.waitFor('device.online', 2);
      expect(await statusOf()).toBe('online');
      expect(receiver.received.map(({ body }) => body.type)).toEqual([
        'device.online',
        'device.offline',
        'device.online',
      ]);
    },
    OFFLINE_WITHIN_MS + 30_000,
  );

  it('is listed page after page, with its metrics on request only', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const deviceIds: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { deviceId, sendHeartbeat } = await enroll(client, orgId);
      await sendHeartbeat({ metrics: { cpuPercent: n } });
      deviceIds.push(deviceId);
    }
    const path = `/devices?orgId=${orgId}&limit=2&sort=hostname&include=metrics`;
    const seen = await readAll<{ id: string; metrics: unknown }>(client, path);
    expect(seen.map(({ id }) => id).sort()).toEqual(deviceIds.toSorted());
    expect(seen.every(({ metrics }) => metrics !== null)).toBe(true);
    const plain = must(await client.get(`/devices?orgId=${orgId}`), 200).data as typeof seen;
    expect(plain.map(({ metrics }) => metrics)).toEqual([null, null, null]);
    await eventually(async () => {
      const shown = must(await client.get(`/orgs/organizations/${orgId}`), 200);
      expect(shown.deviceCount).toBe(3);
    });
    const foreign = (await partnerWithMfa(fleet)).client;
    expect((await foreign.get(`/devices?orgId=${orgId}`)).status).toBe(403);
    expect((await foreign.get(`/devices/${deviceIds[0]}`)).status).toBe(404);
    const recent = must(await client.get(`/devices?orgId=${orgId}&sort=lastSeen&order=desc`), 200);
    const times = (recent.data as { lastSeenAt: string | null }[]).map(({ lastSeenAt }) => lastSeenAt ?? '');
    expect([times.length, times]).toEqual([3, times.toSorted().reverse()]);
  });
});
