import { randomUUID } from 'node:crypto';
import { mintAgentToken } from '@rmm/secrets';
import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

describe('device duplicates', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteId: string;
  let client: Client;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());
  beforeEach(async () => {
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
    siteId = (await client.post('/orgs/sites', { orgId, name: 'Site' })).body.id;
  });

  const device = (values: object = {}) =>
    insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, ...values });
  const withAddress = async (macAddress: string, values: object = {}) => {
    const id = await device(values);
    await testApp.admin.query(
      'INSERT INTO device_network (device_id, partner_id, org_id, adapters) VALUES ($1, $2, $3, $4)',
      [id, partnerId, orgId, JSON.stringify([{ interfaceName: 'eth0', macAddress }])],
    );
    return id;
  };
  const serial = (serialNumber: string) => ({ hardware: { serialNumber } });
  const setsOf = async (query = '', as = client) => {
    const { body } = await as.get(`/devices/duplicates?orgId=${orgId}${query}`);
    return (body.data.sets as { key: string; deviceCount: number; devices: { id: string }[] }[]).map(
      ({ key, deviceCount, devices }) => [key, deviceCount, devices.map(({ id }) => id)],
    );
  };
  const merge = (id: string, duplicateId: string, as = client) => as.post(`/devices/${id}/merge`, { duplicateId });

  describe('GET /devices/duplicates', () => {
    it('finds devices with one serial number, the one seen last first', async () => {
      const old = await device({ ...serial('ABC-123'), last_seen_at: new Date(0) });
      const recent = await device({ ...serial('abc 123'), last_seen_at: new Date() });
      for (let n = 0; n < 2; n += 1) await device(serial('To be filled by O.E.M.'));
      await device({ ...serial('ABC-123'), status: 'decommissioned' });
      await device(serial('other'));
      const { status, body } = await client.get(`/devices/duplicates?orgId=${orgId}`);
      expect([status, body.data.by, body.data.truncated]).toEqual([200, 'serialNumber', false]);
      expect(body.data.sets).toEqual([
        { key: 'ABC123', deviceCount: 2, devices: [expect.anything(), expect.anything()] },
      ]);
      expect(body.data.sets[0].devices.map((each: { id: string }) => each.id)).toEqual([recent, old]);
      expect(body.data.sets[0].devices[1]).toEqual({
        id: old,
        siteId: null,
        hostname: 'pc-1',
        displayName: null,
        osType: 'linux',
        status: 'online',
        lastSeenAt: '1970-01-01T00:00:00.000Z',
        enrolledAt: null,
      });
    });

    it('finds devices with one address', async () => {
      const ids = [await withAddress('A4-BB-6D-00-11-22'), await withAddress('a4:bb:6d:00:11:22')];
      await withAddress('a4:bb:6d:00:11:23');
      const [[key, count, found]] = await setsOf('&by=macAddress');
      expect([key, count, (found as string[]).toSorted()]).toEqual(['a4bb6d001122', 2, ids.toSorted()]);
      expect(await setsOf()).toEqual([]);
    });

    it('shows a restricted member the duplicates among its devices only', async () => {
      const own = [
        await device({ ...serial('S-0001'), site_id: siteId }),
        await device({ ...serial('S-0001'), site_id: siteId }),
      ];
      await device(serial('S-0001'));
      await device({ ...serial('S-0002'), site_id: siteId });
      await device(serial('S-0002'));
      const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId, siteIds: [siteId] });
      const sets = await setsOf('', member);
      expect(sets.map(([key, count, ids]) => [key, count, (ids as string[]).toSorted()])).toEqual([
        ['S0001', 2, own.toSorted()],
      ]);
      const none = await testApp.clientFor({ scope: 'organization', partnerId, orgId, siteIds: [] });
      expect(await setsOf('', none)).toEqual([]);
      const ofGroup = await testApp.clientFor({
        scope: 'organization',
        partnerId,
        orgId,
        deviceGroupIds: [randomUUID()],
      });
      expect(await setsOf('', ofGroup)).toEqual([]);
    });

    it('requires an accessible organization and the permission', async () => {
      expect((await client.get('/devices/duplicates')).body.details.fieldErrors).toHaveProperty('orgId');
      expect((await client.get(`/devices/duplicates?orgId=${orgId}&by=name`)).status).toBe(400);
      const stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
      const foreign = await stranger.get(`/devices/duplicates?orgId=${orgId}`);
      expect(foreign.body.code).toBe('organization_access_denied');
      const blind = await testApp.clientFor({ partnerId, permissions: ['organizations:read'] });
      expect((await blind.get('/devices/duplicates')).body.required).toEqual(['devices:read']);
    });
  });

  describe('POST /devices/:id/merge', () => {
    it('keeps one device with what only the other has, and decommissions the other', async () => {
      const { key, keyHash } = mintAgentToken();
      const kept = await device({ hostname: 'kept', tags: ['a', 'b'], custom_fields: { rack: 'A1', spare: true } });
      const duplicate = await device({
        ...{
          hostname: 'duplicate',
          display_name: 'Desk',
          site_id: siteId,
          tags: ['b', 'c'],
          agent_token_hash: keyHash,
        },
        custom_fields: { rack: 'B2', owner: 'Ann' },
      });
      const groupOf = async (name: string, more: object = {}) =>
        (await client.post('/orgs/device-groups', { orgId, name, ...more })).body.id as string;
      const groups = [await groupOf('G1'), await groupOf('G2', { siteId })];
      for (const groupId of groups) {
        await client.post('/devices/bulk/group', { deviceIds: [duplicate], groupId, action: 'add' });
      }
      const { status, body } = await merge(kept, duplicate);
      expect(status).toBe(200);
      expect(body).toMatchObject({ id: kept, hostname: 'kept', displayName: 'Desk', siteId, tags: ['a', 'b', 'c'] });
      expect(body.customFields).toEqual({ rack: 'A1', spare: true, owner: 'Ann' });
      expect(body.groupIds).toEqual(groups.toSorted());
      const ended = (await client.get(`/devices/${duplicate}`)).body;
      expect(ended).toMatchObject({ status: 'decommissioned', groupIds: [], tags: ['b', 'c'] });
      expect((await testApp.client(key).post(`/agents/${ended.agentId}/heartbeat`)).status).toBe(401);
      const about = (id: string) => (envelope: { aggregateId: string }) => envelope.aggregateId === id;
      const updated = await testApp.waitForMessage('device.updated', about(kept));
      expect(updated.aggregateVersion).toBe(2);
      expect(updated.data).toEqual({
        deviceId: kept,
        hostname: 'kept',
        fields: ['displayName', 'siteId', 'tags', 'customFields'],
        displayName: 'Desk',
        siteId,
        tags: ['a', 'b', 'c'],
        customFields: ['owner'],
      });
      await testApp.waitForMessage('device.decommissioned', about(duplicate));
      const entry = await testApp.waitForMessage('device.update', about(kept));
      expect(entry.data).toMatchObject({ details: { mergedFrom: duplicate } });
      expect((await testApp.waitForMessage('device.decommission', about(duplicate))).data).toMatchObject({
        details: { mergedInto: kept },
      });
    });

    it('leaves out the groups of another site', async () => {
      const other = (await client.post('/orgs/sites', { orgId, name: 'Other' })).body.id as string;
      const [kept, duplicate] = [await device({ site_id: siteId }), await device({ site_id: other })];
      const body = { orgId, name: 'G', siteId: other };
      const groupId = (await client.post('/orgs/device-groups', body)).body.id as string;
      await client.post('/devices/bulk/group', { deviceIds: [duplicate], groupId, action: 'add' });
      expect((await merge(kept, duplicate)).body).toMatchObject({ siteId, groupIds: [] });
    });

    it('keeps one of two devices that are merged into each other at once', async () => {
      const [a, b] = [await device(), await device()];
      const responses = await Promise.all(Array.from({ length: 8 }, (_, n) => (n % 2 ? merge(a, b) : merge(b, a))));
      expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)]);
      expect(responses.find(({ status }) => status === 409)?.body.code).toBe('device_decommissioned');
      const { rows } = await testApp.admin.query('SELECT devices FROM organization_count WHERE org_id = $1', [orgId]);
      expect(rows).toEqual([{ devices: 1 }]);
    });

    it('refuses what would exceed the limits of a device, and changes nothing', async () => {
      const tags = (prefix: string) => Array.from({ length: 30 }, (_, n) => `${prefix}${n}`);
      const large = (key: string) =>
        Object.fromEntries(Array.from({ length: 4 }, (_, n) => [key + n, 'x'.repeat(9_000)]));
      const pairs = [
        [await device({ tags: tags('a') }), await device({ tags: tags('b') })],
        [await device({ custom_fields: large('a') }), await device({ custom_fields: large('b') })],
      ];
      for (const [kept, duplicate] of pairs) {
        expect((await merge(kept, duplicate)).status).toBe(400);
        expect((await client.get(`/devices/${duplicate}`)).body.status).toBe('online');
      }
    });

    it('refuses devices of two organizations, the device itself and malformed ids', async () => {
      const id = await device();
      const second = (await client.post('/orgs/organizations', { name: 'Second' })).body.id as string;
      for (const duplicateId of [await device({ org_id: second }), id, randomUUID(), 'x']) {
        const { status, body } = await merge(id, duplicateId);
        expect([status, Object.keys(body.details.fieldErrors)]).toEqual([400, ['duplicateId']]);
      }
      for (const unknown of [randomUUID(), 'x']) expect((await merge(unknown, id)).status).toBe(404);
    });

    it('is closed without both permissions, outside of the sites of the caller and to other tenants', async () => {
      const [kept, duplicate] = [await device({ site_id: siteId }), await device()];
      for (const permission of ['devices:write', 'devices:delete'] as const) {
        const partly = await testApp.clientFor({ partnerId, permissions: [permission] });
        expect((await merge(kept, duplicate, partly)).body.code).toBe('permission_denied');
      }
      const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId, siteIds: [siteId] });
      expect((await merge(kept, duplicate, member)).body.code).toBe('site_access_denied');
      expect((await merge(duplicate, kept, member)).body.code).toBe('site_access_denied');
      const stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
      expect((await merge(kept, duplicate, stranger)).status).toBe(404);
      expect((await client.get(`/devices/${duplicate}`)).body.status).toBe('online');
    });
  });
});
