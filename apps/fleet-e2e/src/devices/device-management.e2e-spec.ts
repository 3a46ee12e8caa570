import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  eventually,
  partnerWithMfa,
  WebhookReceiver,
} from '@rmm/testing';
import { createWebhook, enrollmentKey, must } from '../steps.js';

describe('device management', () => {
  const fleet = connectToFleet();
  const receiver = new WebhookReceiver();
  afterAll(() => receiver.stop());

  const enroll = async (client: ApiClient, orgId: string, more: object = {}) => {
    const body = { ...buildEnrollment(await enrollmentKey(client, orgId)), ...more };
    return must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', body), 201);
  };
  const heartbeatOf = (agentId: string, authToken: string) =>
    new ApiClient(fleet.baseUrl)
      .as({ bearer: authToken })
      .post(`/agents/${agentId}/heartbeat`, { agentVersion: '1.0' });

  it('provisions a device whose agent fetches its identity once, with the events of its life', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const siteId = must(await client.post('/orgs/sites', { orgId, name: 'Shop' }), 201).id as string;
    await createWebhook(client, orgId, { url: await receiver.start(), events: ['device.*'] });
    const body = { orgId, siteId, hostname: 'till-1', osType: 'windows' };
    const { device, credentials } = must(await client.post('/devices/provision', body), 201);
    expect((await client.post('/devices/provision', body)).body.code).toBe('hostname_collision');
    const path = `/devices/provision/fetch/${credentials.fetch_token}`;
    expect(credentials.fetch_url).toMatch(new RegExp(`${path}$`));
    expect((await (await partnerWithMfa(fleet)).client.get(path)).status).toBe(404);
    const identity = must(await client.get(path), 200);
    expect((await client.get(path)).status).toBe(404);
    must(await heartbeatOf(identity.agentId as string, identity.authToken as string), 200);
    must(await client.patch(`/devices/${device.id}`, { tags: ['till'] }), 200);
    must(await client.delete(`/devices/${device.id}`), 200);
    for (const type of ['device.enrolled', 'device.online', 'device.updated', 'device.decommissioned']) {
      const [sent] = await receiver.waitFor(type, 1);
      expect(sent?.body).toMatchObject({ orgId, data: { deviceId: device.id, hostname: 'till-1' } });
    }
  });

  it('changes devices in bulk and merges two that report one serial number', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const hardwareInfo = { serialNumber: 'SN-2026-0001' };
    const [first, second] = [
      await enroll(client, orgId, { hostname: 'desk', hardwareInfo }),
      await enroll(client, orgId, { hostname: 'desk-old', hardwareInfo: { serialNumber: 'sn 2026 0001' } }),
    ];
    const deviceIds = [first.deviceId, second.deviceId] as string[];
    const tagged = must(await client.post('/devices/bulk/tags', { deviceIds: [deviceIds[1]], add: ['vip'] }), 200);
    expect(tagged.data.summary).toEqual({ changed: 1, unchanged: 0, failed: 0 });
    const found = must(await client.get(`/devices/duplicates?orgId=${orgId}`), 200);
    expect(found.data.sets).toMatchObject([{ key: 'SN20260001', deviceCount: 2 }]);
    const merged = must(await client.post(`/devices/${deviceIds[0]}/merge`, { duplicateId: deviceIds[1] }), 200);
    expect(merged).toMatchObject({ id: deviceIds[0], tags: ['vip'] });
    expect(must(await client.get(`/devices/duplicates?orgId=${orgId}`), 200).data.sets).toEqual([]);
    expect((await heartbeatOf(second.agentId as string, second.authToken as string)).status).toBe(401);
  });

  it('replaces the token of an agent by a heartbeat, without an interruption', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const { deviceId, agentId, authToken } = (await enroll(client, orgId)) as Record<string, string>;
    must(await heartbeatOf(agentId, authToken), 200);
    must(await client.post(`/devices/${deviceId}/rotate-agent-token`, {}), 200);
    const next = await eventually(async () => {
      const [command] = must(await heartbeatOf(agentId, authToken), 200).commands as {
        payload: { authToken: string };
      }[];
      if (!command) throw new Error('no command yet');
      return command.payload.authToken;
    });
    must(await heartbeatOf(agentId, next), 200);
    await eventually(async () => {
      must(await heartbeatOf(agentId, authToken), 401);
    });
    must(await heartbeatOf(agentId, next), 200);
  });

  it('checks values of custom fields against definitions of the partner and of an organization', async () => {
    const { client } = await partnerWithMfa(fleet);
    const [{ orgId }, other] = [await createOrganization(client), await createOrganization(client)];
    const route = '/devices/custom-field-definitions';
    const field = { fieldKey: 'slots', name: 'Slots', type: 'number', defaultValue: 2 };
    must(await client.post(route, { ...field, ownerScope: 'partner' }), 201);
    const own = { ...field, ownerScope: 'organization', orgId, type: 'dropdown', options: ['few', 'many'] };
    must(await client.post(route, { ...own, defaultValue: 'few' }), 201);
    const [device, elsewhere] = [await enroll(client, orgId), await enroll(client, other.orgId)];
    const fieldsOf = async (id: unknown) =>
      must(await client.get(`/devices/${String(id)}/custom-fields`), 200).customFields;
    expect([await fieldsOf(device.deviceId), await fieldsOf(elsewhere.deviceId)]).toEqual([
      { slots: 'few' },
      { slots: 2 },
    ]);
    const patch = (id: unknown, slots: unknown) => client.patch(`/devices/${String(id)}/custom-fields`, { slots });
    must(await patch(device.deviceId, 4), 400);
    must(await patch(device.deviceId, 'many'), 200);
    must(await patch(elsewhere.deviceId, 4), 200);
  });
});
