import { randomUUID } from 'node:crypto';
import { ApiClient, connectToFleet, createOrganization, eventually, partnerWithMfa } from '@rmm/testing';
import { createApiKey, enrollDevice } from '../credentials/machines.js';
import { EventPublisher } from '../outages/event-publisher.js';
import { publishRecords } from '../partner-interface/publish-records.js';
import { must } from '../steps.js';
import { CLIENTS, type McpClient } from './mcp-clients.js';

const TOOLS = [
  ...['list_devices', 'get_device', 'list_sites', 'list_scripts', 'get_script', 'list_automations', 'list_alerts'],
  'get_posture_summary',
  ...['set_device_custom_fields', 'set_device_tags', 'run_script'],
];

describe('MCP', () => {
  const fleet = connectToFleet();
  let admin: ApiClient;
  let orgId: string;
  let siteId: string;
  let deviceId: string;
  let scriptId: string;
  let foreignDeviceId: string;
  const alertId = randomUUID();
  const automationId = randomUUID();

  beforeAll(async () => {
    const { client, partnerId } = await partnerWithMfa(fleet);
    admin = client;
    orgId = (await createOrganization(admin)).orgId;
    siteId = must(await admin.post('/orgs/sites', { orgId, name: 'Main Office' }), 201).id as string;
    deviceId = await enrollDevice(fleet, admin, orgId, siteId);
    const script = { orgId, name: 'Disk space', osTypes: ['linux'], language: 'bash', content: 'df -h' };
    scriptId = must(await admin.post('/scripts', script), 201).id as string;
    foreignDeviceId = await enrollDevice(fleet, admin, (await createOrganization(admin)).orgId);
    const alert = { id: alertId, type: 'alert.triggered', orgId, data: { deviceId, severity: 'high' } };
    await new EventPublisher(fleet).publishAll([alert]);
    const record = { name: 'Clean up', enabled: true, trigger: { cron: '0 3 * * *' }, actions: [{ run: scriptId }] };
    await publishRecords(fleet, [
      {
        ...{ schemaVersion: 1, messageId: randomUUID(), resource: 'automations', id: automationId, partnerId, orgId },
        ...{ updatedAt: new Date().toISOString(), record },
      },
    ]);
  });

  const createKey = (scopes: string[]) => createApiKey(admin, orgId, { scopes, rateLimit: 10_000 });

  describe.each(CLIENTS)('with %s', (_, path, connect) => {
    let client: McpClient;
    let keyId: string;

    beforeAll(async () => {
      const { id, key } = await createKey(['ai:read', 'ai:write', 'ai:execute']);
      keyId = id;
      client = await connect(`${fleet.baseUrl}/api/v1${path}`, key);
    });
    afterAll(() => client?.close());

    const call = async (name: string, args?: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })).structuredContent;

    it('lists every tool and calls each once', async () => {
      await eventually(async () => expect(await call('list_automations', {})).toMatchObject({ total: 1 }));
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(TOOLS);
      const called: Record<string, unknown> = {
        list_devices: await call('list_devices', { limit: 5, siteId }),
        get_device: await call('get_device', { deviceId }),
        list_sites: await call('list_sites', {}),
        list_scripts: await call('list_scripts', { language: 'bash' }),
        get_script: await call('get_script', { scriptId }),
        list_automations: await call('list_automations', { limit: 5 }),
        list_alerts: await call('list_alerts', { limit: 5 }),
        get_posture_summary: await call('get_posture_summary'),
        set_device_custom_fields: await call('set_device_custom_fields', { deviceId, customFields: { rack: 'A1' } }),
        set_device_tags: await call('set_device_tags', { deviceId, tags: ['till'] }),
        run_script: await call('run_script', { deviceId, scriptId }).catch((error: { code: number }) => error.code),
      };
      expect(Object.keys(called)).toEqual(TOOLS);
      expect(called).toMatchObject({
        list_devices: { devices: [{ id: deviceId, siteId }], total: 1, nextCursor: null },
        get_device: { device: { id: deviceId } },
        list_sites: { sites: expect.arrayContaining([expect.objectContaining({ id: siteId, deviceCount: 1 })]) },
        list_scripts: { scripts: [{ id: scriptId, name: 'Disk space' }] },
        get_script: { script: { content: 'df -h', nextOffset: null } },
        list_automations: { automations: [{ id: automationId, name: 'Clean up', enabled: true }], total: 1 },
        list_alerts: {
          alerts: [{ id: alertId, type: 'alert.triggered', data: { severity: 'high' } }],
          nextCursor: null,
        },
        get_posture_summary: { category: 'rmm', totals: { totalDevices: 1, neverScanned: 1 } },
        set_device_custom_fields: { customFields: { rack: 'A1' } },
        set_device_tags: { tags: ['till'] },
        run_script: -32010,
      });
      expect(must(await admin.get(`/devices/${deviceId}`), 200)).toMatchObject({
        tags: ['till'],
        customFields: { rack: 'A1' },
      });
    });

    it('reads resources and prompts', async () => {
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toEqual([
        ...['rmm://devices', 'rmm://alerts', 'rmm://scripts', 'rmm://automations'],
      ]);
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['rmm://devices/{id}']);
      for (const uri of [...resources.map((resource) => resource.uri), `rmm://devices/${deviceId}`]) {
        expect(await client.readResource({ uri })).toMatchObject({ contents: [{ uri, mimeType: 'application/json' }] });
      }
      const { prompts } = await client.listPrompts();
      expect(prompts).toHaveLength(5);
      const review = { name: 'review-device', arguments: { deviceId } };
      expect(await client.getPrompt(review)).toMatchObject({ messages: [{ role: 'user' }] });
    });

    it('reports what is refused with the codes of the protocol', async () => {
      for (const [refused, code] of [
        [call('list_patches'), -32602],
        [call('get_device', { deviceId: 'x' }), -32602],
        [call('get_device', { deviceId: foreignDeviceId }), -32602],
        [call('set_device_tags', { deviceId: foreignDeviceId, tags: ['x'] }), -32602],
        [client.readResource({ uri: `rmm://devices/${foreignDeviceId}` }), -32602],
        [client.readResource({ uri: 'rmm://patches' }), -32602],
        [client.getPrompt({ name: 'none' }), -32602],
      ] as const) {
        await expect(refused).rejects.toMatchObject({ code });
      }
      expect(must(await admin.get(`/devices/${foreignDeviceId}`), 200).tags).toEqual([]);
    });

    it('is in the audit log, as the key', async () => {
      for (const action of ['mcp.request', 'mcp.tool']) {
        await eventually(async () => {
          const { data } = must(await admin.get(`/audit-logs?orgId=${orgId}&action=${action}&limit=100`), 200);
          expect(JSON.stringify(data)).toContain(keyId);
        });
      }
    });
  });

  it('shows a key what it may call, and refuses the others', async () => {
    const { key } = await createKey(['ai:read']);
    const [, path, connect] = CLIENTS[0] ?? [];
    const client = await connect?.(`${fleet.baseUrl}/api/v1${path}`, key);
    if (!client) throw new Error('no client');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(TOOLS.slice(0, 8));
    const tags = { deviceId, tags: ['x'] };
    await expect(client.callTool({ name: 'set_device_tags', arguments: tags })).rejects.toMatchObject({ code: -32603 });
    await client.close();
  });

  it('refuses a client without a valid key, which looks for no authorization server', async () => {
    for (const [, path, connect] of CLIENTS) {
      await expect(connect(`${fleet.baseUrl}/api/v1${path}`, `svc_${'x'.repeat(32)}`)).rejects.toThrow();
    }
    for (const path of ['oauth-protected-resource', 'oauth-authorization-server/api/v1/mcp/sse']) {
      const response = await fetch(`${fleet.baseUrl}/.well-known/${path}`, { headers: { accept: 'text/html' } });
      expect([response.status, response.headers.get('content-type')]).toEqual([404, expect.stringContaining('json')]);
    }
  });
});
