import { randomUUID } from 'node:crypto';
import {
  MCP_CONTENT_SLICE,
  PROVISIONING_MCP_GET_DEVICE,
  PROVISIONING_MCP_GET_SCRIPT,
  PROVISIONING_MCP_LIST_AUTOMATIONS,
  PROVISIONING_MCP_LIST_DEVICES,
  PROVISIONING_MCP_LIST_SCRIPTS,
  PROVISIONING_MCP_LIST_SITES,
  PROVISIONING_MCP_POSTURE_SUMMARY,
  PROVISIONING_MCP_SET_CUSTOM_FIELDS,
  PROVISIONING_MCP_SET_TAGS,
  type McpListDevicesRequest,
  type RestrictedApiKey,
} from '@rmm/contracts';
import { insertDevice } from '../../test/device-rows.js';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

describe('data of MCP', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteIds: string[];
  let foreign: { deviceId: string; siblingDeviceId: string; scriptId: string };
  const keyId = randomUUID();

  const caller = (changes: Partial<RestrictedApiKey> = {}, of = { partnerId, orgId }): RestrictedApiKey => ({
    kind: 'api_key',
    keyId,
    tenant: { scope: 'organization', ...of, orgAccess: 'none', orgIds: [] },
    siteIds: null,
    deviceGroupIds: null,
    ...changes,
  });
  const device = (values: Record<string, unknown> = {}) =>
    insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, ...values });
  const listDevices = (query: Partial<McpListDevicesRequest> = {}) =>
    testApp.call(PROVISIONING_MCP_LIST_DEVICES, { caller: caller(), cursor: null, limit: 50, ...query });
  const client = async (of = partnerId) => testApp.clientFor({ partnerId: of });
  const createScript = async (body: object, of = partnerId): Promise<string> => {
    const { status, body: script } = await (
      await client(of)
    ).post('/scripts', {
      ...{ name: `Script ${randomUUID()}`, osTypes: ['linux'], language: 'bash', content: 'df -h' },
      ...body,
    });
    expect([status, script]).toMatchObject([201, { id: expect.any(String) }]);
    return script.id as string;
  };

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    const own = await client();
    orgId = (await own.post('/orgs/organizations', { name: 'Acme' })).body.id;
    siteIds = [];
    for (const name of ['A', 'B']) {
      const contact = { name: 'Kim Kontakt', email: 'kim@acme.example' };
      siteIds.push((await own.post('/orgs/sites', { orgId, name, contact })).body.id);
    }
    const sibling = (await own.post('/orgs/organizations', { name: 'Sibling' })).body.id as string;
    const other = await testApp.createPartner();
    const otherOrg = (await (await client(other)).post('/orgs/organizations', { name: 'Other' })).body.id as string;
    foreign = {
      deviceId: await insertDevice(testApp.admin, { partner_id: other, org_id: otherOrg }),
      siblingDeviceId: await insertDevice(testApp.admin, { partner_id: partnerId, org_id: sibling }),
      scriptId: await createScript({ orgId: sibling }),
    };
  });
  afterAll(() => testApp?.stop());

  it('lists devices of the organization alone, page after page, with a total on the first', async () => {
    const ids = [
      await device({ hostname: 'a-1' }),
      await device({ hostname: 'a-2' }),
      await device({ hostname: 'b-1' }),
    ];
    const first = await listDevices({ limit: 2 });
    expect([first.items.length, first.total]).toEqual([2, ids.length]);
    const second = await listDevices({ limit: 2, cursor: first.nextCursor });
    expect([second.total, second.nextCursor]).toEqual([null, null]);
    expect([...first.items, ...second.items].map(({ id }) => id).sort()).toEqual([...ids].sort());
    expect((await listDevices({ search: 'a-' })).items.map(({ hostname }) => hostname).sort()).toEqual(['a-1', 'a-2']);
    expect((await listDevices({ status: 'maintenance' })).items).toEqual([]);
    const [shown] = first.items;
    expect(Object.keys(shown ?? {})).not.toEqual(expect.arrayContaining(['agentId', 'customFields', 'agentTokenHash']));
    await expect(listDevices({ limit: 2, cursor: first.nextCursor, search: 'a-' })).rejects.toThrow('invalid_cursor');
    await expect(listDevices({ siteId: randomUUID() })).resolves.toMatchObject({ items: [] });
  });

  it('restricts a key to the sites and device groups of its creator', async () => {
    const [inside, outside] = [await device({ site_id: siteIds[0] }), await device({ site_id: siteIds[1] })];
    const restricted = caller({ siteIds: [siteIds[0] ?? ''] });
    expect((await listDevices({ caller: restricted })).items.map(({ id }) => id)).toEqual([inside]);
    expect((await listDevices({ caller: caller({ deviceGroupIds: [] }) })).items).toEqual([]);
    await expect(
      testApp.call(PROVISIONING_MCP_GET_DEVICE, { caller: restricted, deviceId: inside }),
    ).resolves.toBeDefined();
    for (const act of [
      testApp.call(PROVISIONING_MCP_GET_DEVICE, { caller: restricted, deviceId: outside }),
      testApp.call(PROVISIONING_MCP_SET_TAGS, { caller: restricted, deviceId: outside, tags: ['x'] }),
      testApp.call(PROVISIONING_MCP_SET_CUSTOM_FIELDS, {
        caller: restricted,
        deviceId: outside,
        customFields: { a: 1 },
      }),
      listDevices({ caller: restricted, siteId: siteIds[1] }),
    ]) {
      await expect(act).rejects.toThrow('site_access_denied');
    }
    const sites = await testApp.call(PROVISIONING_MCP_LIST_SITES, { caller: restricted, cursor: null, limit: 10 });
    expect(sites.items.map(({ id }) => id)).toEqual([siteIds[0]]);
  });

  it('shows and changes a device, as the key in the audit log', async () => {
    const deviceId = await device({
      hostname: 'till-9',
      custom_fields: { rack: 'A1', old: 1 },
      hardware: { cpuCores: 4 },
    });
    const fields = await testApp.call(PROVISIONING_MCP_SET_CUSTOM_FIELDS, {
      ...{ caller: caller(), deviceId, customFields: { rack: 'B2', old: null } },
    });
    expect(fields).toEqual({ customFields: { rack: 'B2' } });
    expect(
      await testApp.call(PROVISIONING_MCP_SET_TAGS, { caller: caller(), deviceId, tags: ['till', 'north', 'till'] }),
    ).toEqual({
      tags: ['till', 'north'],
    });
    const shown = await testApp.call(PROVISIONING_MCP_GET_DEVICE, { caller: caller(), deviceId });
    expect(shown).toMatchObject({
      ...{ id: deviceId, hostname: 'till-9', tags: ['till', 'north'], customFields: { rack: 'B2' } },
      hardware: { cpuCores: 4 },
    });
    for (const action of ['device.custom_field.update', 'device.update']) {
      const entry = await testApp.waitForMessage(
        action,
        ({ data }) => (data as { resourceId: string }).resourceId === deviceId,
      );
      expect(entry.actor).toMatchObject({ type: 'api_key', id: keyId });
    }
  });

  it('finds no device of another organization, whatever is done to it', async () => {
    for (const deviceId of [foreign.deviceId, foreign.siblingDeviceId, randomUUID()]) {
      for (const act of [
        testApp.call(PROVISIONING_MCP_GET_DEVICE, { caller: caller(), deviceId }),
        testApp.call(PROVISIONING_MCP_SET_TAGS, { caller: caller(), deviceId, tags: ['x'] }),
        testApp.call(PROVISIONING_MCP_SET_CUSTOM_FIELDS, { caller: caller(), deviceId, customFields: { a: 1 } }),
      ]) {
        await expect(act).rejects.toThrow('Device not found');
      }
    }
    const { rows } = await testApp.admin.query('select tags, custom_fields from device where id = any($1)', [
      [foreign.deviceId, foreign.siblingDeviceId],
    ]);
    expect(rows).toEqual(Array(2).fill({ tags: [], custom_fields: {} }));
  });

  it('lists sites without contacts and settings', async () => {
    const { items } = await testApp.call(PROVISIONING_MCP_LIST_SITES, {
      caller: caller(),
      cursor: null,
      limit: 10,
      search: 'A',
    });
    expect(items.map(({ name }) => name)).toContain('A');
    expect(JSON.stringify(items)).not.toMatch(/kim@acme|settings|contact/);
  });

  it('lists scripts of the organization and of its partner, and reads one part by part', async () => {
    const content = `${'é'.repeat(MCP_CONTENT_SLICE - 1)}😀 end`;
    const [own, shared] = [
      await createScript({ orgId, content, description: 'x'.repeat(600) }),
      await createScript({ availability: 'partner', language: 'python' }),
    ];
    const list = (query: object = {}) =>
      testApp.call(PROVISIONING_MCP_LIST_SCRIPTS, { caller: caller(), cursor: null, limit: 50, ...query });
    const { items } = await list();
    expect(items.map(({ id }) => id).sort()).toEqual([own, shared].sort());
    expect(items.find(({ id }) => id === own)?.description).toHaveLength(500);
    expect(JSON.stringify(items)).not.toContain('éé');
    expect((await list({ language: 'python' })).items.map(({ id }) => id)).toEqual([shared]);

    const read = (scriptId: string, offset = 0) =>
      testApp.call(PROVISIONING_MCP_GET_SCRIPT, { caller: caller(), scriptId, offset });
    const first = await read(own);
    const second = await read(own, first.nextOffset ?? -1);
    expect(first.content + second.content).toBe(content);
    expect([/\p{Surrogate}/u.test(first.content), second.nextOffset]).toEqual([false, null]);
    expect(await read(own, 10_000_000)).toMatchObject({ content: '', nextOffset: null });
    for (const id of [foreign.scriptId, randomUUID()]) await expect(read(id)).rejects.toThrow('Script not found');
  });

  it('lists automations, and refuses keys that are restricted to sites or device groups', async () => {
    const list = (key: RestrictedApiKey) =>
      testApp.call(PROVISIONING_MCP_LIST_AUTOMATIONS, { caller: key, cursor: null, limit: 10 });
    expect(await list(caller())).toEqual({ items: [], total: 0, nextCursor: null });
    for (const restriction of [{ siteIds: [siteIds[0] ?? ''] }, { deviceGroupIds: [] }]) {
      await expect(list(caller(restriction))).rejects.toThrow('site_access_denied');
    }
  });

  it('sums up the posture of the organization', async () => {
    const request = { caller: caller(), category: 'rmm' as const, stalenessDays: 7 };
    const { rows } = await testApp.admin.query<{ count: number }>(
      'select count(*)::integer as count from device where org_id = $1',
      [orgId],
    );
    const devices = rows[0]?.count;
    expect(await testApp.call(PROVISIONING_MCP_POSTURE_SUMMARY, request)).toMatchObject({
      ...{ category: 'rmm', stalenessDays: 7, products: [], truncated: false },
      totals: { totalDevices: devices, neverScanned: devices },
    });
  });

  it.each([
    ['a page that is too large', { limit: 51 }],
    ['text that no column can store', { search: 'a\u0000' }],
    ['an unknown status', { status: 'lost' }],
    ['a caller without its restriction', { caller: { kind: 'api_key', keyId } }],
  ])('refuses %s', async (_, query) => {
    await expect(listDevices(query as never)).rejects.toThrow('validation_failed');
  });
});
