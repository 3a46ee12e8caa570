import { randomUUID } from 'node:crypto';
import { NotFoundError, UnavailableError } from '@rmm/service-kit';
import { apiKeyCaller } from '../../../test/api-key-callers.js';
import { ALERT, AUTOMATION, DEVICE, fakeMcpData, SCRIPT } from '../../../test/fake-mcp-data.js';
import { ResourcesService } from './resources.service.js';

describe('ResourcesService', () => {
  const caller = apiKeyCaller();
  let data: ReturnType<typeof fakeMcpData>;
  let resources: ResourcesService;

  const urisOf = (of = caller) => (resources.list(of) as { uri: string }[]).map(({ uri }) => uri);
  const read = async (uri: unknown, of = caller) => {
    const { contents } = (await resources.read(of, { uri })) as { contents: { text: string }[] };
    expect(contents).toMatchObject([{ uri, mimeType: 'application/json' }]);
    return JSON.parse(contents[0]?.text ?? '') as unknown;
  };

  beforeEach(() => {
    data = fakeMcpData();
    resources = new ResourcesService(data as never);
  });

  it('lists the resources behind the scopes of the key, and the template of a device', () => {
    expect(urisOf()).toEqual(['rmm://devices', 'rmm://alerts', 'rmm://scripts', 'rmm://automations']);
    expect(resources.listTemplates(caller)).toMatchObject([{ uriTemplate: 'rmm://devices/{id}' }]);
    const writer = apiKeyCaller({ scopes: ['ai:write', 'no:such', '*'] });
    expect([urisOf(writer), resources.listTemplates(writer)]).toEqual([[], []]);
    expect(urisOf(apiKeyCaller({ scopes: ['scripts:read'] }))).toEqual(['rmm://scripts']);
  });

  it('reads each', async () => {
    expect(await read('rmm://devices')).toMatchObject({ devices: [{ id: DEVICE.id }], total: 1 });
    expect(await read('rmm://alerts')).toMatchObject({ alerts: [{ id: ALERT.id }] });
    expect(await read('rmm://scripts')).toMatchObject({ scripts: [{ id: SCRIPT.id }], total: 1 });
    expect(await read('rmm://automations')).toMatchObject({ automations: [{ id: AUTOMATION.id }], total: 1 });
    expect(await read(`rmm://devices/${DEVICE.id}`)).toMatchObject({ id: DEVICE.id, customFields: { rack: 'A1' } });
    expect(data.getDevice).toHaveBeenCalledWith(caller, DEVICE.id);
  });

  it('reads all pages of alerts', async () => {
    data.listAlerts
      .mockResolvedValueOnce({ alerts: [ALERT], nextCursor: 'second' })
      .mockResolvedValueOnce({ alerts: [ALERT], nextCursor: null });
    expect(await read('rmm://alerts')).toMatchObject({ alerts: [{ id: ALERT.id }, { id: ALERT.id }] });
    expect(data.listAlerts.mock.calls.map(([, query]) => query)).toEqual([
      { cursor: null, limit: 25 },
      { cursor: 'second', limit: 25 },
    ]);
  });

  it('hides alerts and automations from a restricted key', async () => {
    const restricted = apiKeyCaller({ siteIds: [randomUUID()] });
    expect(urisOf(restricted)).toEqual(['rmm://devices', 'rmm://scripts']);
    for (const uri of ['rmm://alerts', 'rmm://automations']) {
      await expect(read(uri, restricted)).rejects.toMatchObject({ code: -32602 });
    }
    expect(data.listAlerts).not.toHaveBeenCalled();
    expect(data.listAutomations).not.toHaveBeenCalled();
  });

  it.each([
    'rmm://automations/x',
    'rmm://devices/',
    'rmm://devices/x',
    'rmm://devices?cursor=x',
    `rmm://devices/${DEVICE.id}/../..`,
    `rmm://scripts/${SCRIPT.id}`,
    'file:///etc/passwd',
    'http://169.254.169.254/',
    '',
    undefined,
    7,
    ['rmm://devices'],
  ])('refuses %j with -32602', async (uri) => {
    const data = { code: 'unknown_resource', uri: typeof uri === 'string' ? uri : '' };
    await expect(read(uri)).rejects.toMatchObject({ code: -32602, data });
  });

  it('refuses what the scopes of the key do not allow', async () => {
    const scripts = apiKeyCaller({ scopes: ['scripts:read'] });
    for (const uri of ['rmm://devices', `rmm://devices/${DEVICE.id}`, 'rmm://alerts']) {
      await expect(read(uri, scripts)).rejects.toMatchObject({ code: -32602 });
    }
  });

  it('refuses an unknown device with -32602, and leaves an outage an error of the request', async () => {
    data.getDevice.mockRejectedValueOnce(new NotFoundError('Device'));
    await expect(read(`rmm://devices/${randomUUID()}`)).rejects.toMatchObject({
      code: -32602,
      message: 'Device not found',
    });
    data.getDevice.mockRejectedValueOnce(new UnavailableError());
    await expect(read(`rmm://devices/${randomUUID()}`)).rejects.toThrow(UnavailableError);
  });
});
