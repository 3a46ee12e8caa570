import { randomUUID } from 'node:crypto';
import { AuditTrail } from '@rmm/messaging';
import { ConflictError, ForbiddenError, NotFoundError, UnavailableError, ValidationError } from '@rmm/service-kit';
import { apiKeyCaller } from '../../../test/api-key-callers.js';
import { DEVICE, fakeMcpData, SCRIPT, SITE } from '../../../test/fake-mcp-data.js';
import { TOOLS } from './tool-catalog.js';
import { ToolsService } from './tools.service.js';

const READS = [
  ...['list_devices', 'get_device', 'list_sites', 'list_scripts', 'get_script', 'list_automations'],
  ...['list_alerts', 'get_posture_summary'],
];
const WRITES = ['set_device_custom_fields', 'set_device_tags'];
const ALL = [...READS, ...WRITES, 'run_script'];

/** Arguments with which each tool is called. */
const ARGUMENTS: Record<string, object> = {
  list_devices: { limit: 5, siteId: SITE.id, status: 'online', osType: 'linux', search: 'till' },
  get_device: { deviceId: DEVICE.id },
  list_sites: { search: 'Main' },
  list_scripts: { language: 'bash', osType: 'linux' },
  get_script: { scriptId: SCRIPT.id, contentOffset: 10 },
  list_automations: { limit: 5 },
  list_alerts: { limit: 25 },
  get_posture_summary: { category: 'backup', stalenessDays: 30 },
  set_device_custom_fields: { deviceId: DEVICE.id, customFields: { rack: 'B2', old: null } },
  set_device_tags: { deviceId: DEVICE.id, tags: ['a'] },
  run_script: { deviceId: DEVICE.id, scriptId: SCRIPT.id },
};

describe('ToolsService', () => {
  const everything = apiKeyCaller({ scopes: ['ai:read', 'ai:write', 'ai:execute'] });
  let data: ReturnType<typeof fakeMcpData>;
  let record: jest.Mock;

  function toolsOf({ isProduction = false } = {}): ToolsService {
    const audit = { recordDirect: record } as unknown as AuditTrail;
    return new ToolsService(data as never, audit, { warn: jest.fn() } as never, { isProduction });
  }
  const namesOf = (scopes: string[], isProduction = false) =>
    toolsOf({ isProduction })
      .list(apiKeyCaller({ scopes }))
      .map(({ name }) => name);
  /** Returns code and data of the refusal of a call. */
  async function refusalOf(name: unknown, args?: unknown, caller = everything, tools = toolsOf()) {
    const error = await tools.call(caller, { name, ...(args !== undefined && { arguments: args }) }).then(
      () => null,
      (refusal: { code?: number; data?: object; message: string }) => refusal,
    );
    return error && { rpcCode: error.code, ...error.data, message: error.message };
  }

  beforeEach(() => {
    data = fakeMcpData();
    record = jest.fn().mockResolvedValue(undefined);
  });

  it('lists the tools that the scopes of the key allow, always in the same order', () => {
    expect(namesOf(['ai:read'])).toEqual(READS);
    expect(namesOf(['ai:read', 'ai:write'])).toEqual([...READS, ...WRITES]);
    expect(namesOf(['ai:read', 'ai:execute'])).toEqual(ALL);
    expect(namesOf(['ai:read', 'ai:execute'], true)).toEqual([...READS, ...WRITES]);
    expect(namesOf(['ai:read', 'ai:execute', 'ai:execute_admin'], true)).toEqual(ALL);
    expect(namesOf(['ai:write', 'devices:read'])).toEqual([]);
  });

  it('describes each tool with schemas that take nothing else, and never an organization', () => {
    const tools = toolsOf().list(everything);
    expect(tools).toHaveLength(TOOLS.length);
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      expect([name, inputSchema]).toMatchObject([name, { type: 'object', additionalProperties: false }]);
      expect([name, outputSchema]).toMatchObject([name, { type: 'object' }]);
      expect(JSON.stringify(inputSchema)).not.toMatch(/orgId|partnerId/);
      expect(name).toMatch(/^[a-z_]{1,64}$/);
      expect(title.length * description.length).toBeGreaterThan(0);
      expect([name, annotations.readOnlyHint]).toEqual([name, READS.includes(name)]);
    }
  });

  it.each([...READS, ...WRITES])(
    'calls %s with its arguments, as the key, and shows what its schema names',
    async (name) => {
      const result = await toolsOf().call(everything, { name, arguments: ARGUMENTS[name] });
      const { structuredContent, content, isError } = result;
      expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
      expect([isError, Object.keys(structuredContent).length > 0]).toEqual([false, true]);
      expect(JSON.stringify(result)).not.toContain('never shown');
      const calls = Object.values(data).flatMap((method) => method.mock.calls);
      expect(calls).toHaveLength(1);
      expect(calls[0]?.[0]).toBe(everything);
    },
  );

  it('passes filters, limits and cursors on, with defaults', async () => {
    await toolsOf().call(everything, { name: 'list_devices', arguments: ARGUMENTS['list_devices'] });
    expect(data.listDevices).toHaveBeenCalledWith(everything, { cursor: null, ...ARGUMENTS['list_devices'] });
    await toolsOf().call(everything, { name: 'list_scripts', arguments: { cursor: 'c' } });
    expect(data.listScripts).toHaveBeenCalledWith(everything, { cursor: 'c', limit: 20 });
    await toolsOf().call(everything, { name: 'get_script', arguments: ARGUMENTS['get_script'] });
    expect(data.getScript).toHaveBeenCalledWith(everything, SCRIPT.id, 10);
    await toolsOf().call(everything, { name: 'get_posture_summary' });
    expect(data.summarizePosture).toHaveBeenCalledWith(everything, { category: 'rmm', stalenessDays: 7 });
    const { structuredContent } = await toolsOf().call(everything, { name: 'list_devices' });
    expect(structuredContent).toMatchObject({ devices: [{ id: DEVICE.id }], total: 1, nextCursor: null });
  });

  it('refuses an unknown tool with -32602', async () => {
    for (const name of ['none', 'delete_device', 'constructor', '', undefined, 7]) {
      expect(await refusalOf(name)).toMatchObject({ rpcCode: -32602, message: 'Unknown tool' });
    }
    expect(record).not.toHaveBeenCalled();
  });

  it('hides alerts and automations, which are of the whole organization, from a restricted key', async () => {
    for (const restriction of [{ siteIds: [] }, { deviceGroupIds: [randomUUID()] }]) {
      const caller = apiKeyCaller(restriction);
      expect(
        toolsOf()
          .list(caller)
          .map(({ name }) => name),
      ).toEqual(READS.filter((name) => !['list_alerts', 'list_automations'].includes(name)));
      for (const name of ['list_alerts', 'list_automations']) {
        expect(await refusalOf(name, {}, caller)).toMatchObject({ rpcCode: -32602, message: 'Unknown tool' });
      }
    }
    expect(data.listAlerts).not.toHaveBeenCalled();
    expect(data.listAutomations).not.toHaveBeenCalled();
  });

  it('refuses a tool without its scope with -32603, before the arguments are read', async () => {
    const reader = apiKeyCaller();
    for (const name of WRITES) {
      expect(await refusalOf(name, { orgId: 'x' }, reader)).toMatchObject({
        ...{ code: 'api_key_scope_required', required: ['ai:write', 'ai:execute'] },
      });
    }
    const production = toolsOf({ isProduction: true });
    expect(await refusalOf('run_script', {}, everything, production)).toMatchObject({ required: ['ai:execute_admin'] });
    await expect(toolsOf().call(reader, { name: 'set_device_tags' })).rejects.toMatchObject({
      code: -32603,
      status: 200,
    });
    expect(data.setTags).not.toHaveBeenCalled();
  });

  it('never runs a script', async () => {
    const administrator = apiKeyCaller({ scopes: ['ai:read', 'ai:execute', 'ai:execute_admin'] });
    for (const args of [ARGUMENTS['run_script'], {}, undefined]) {
      const call = toolsOf({ isProduction: true }).call(administrator, { name: 'run_script', arguments: args });
      await expect(call).rejects.toMatchObject({ code: -32010, status: 200, data: { code: 'approval_required' } });
    }
    expect(Object.values(data).flatMap((method) => method.mock.calls)).toEqual([]);
  });

  it.each([
    ['get_device', {}, ['deviceId']],
    ['get_device', { deviceId: 'x' }, ['deviceId']],
    ['get_device', { deviceId: DEVICE.id, orgId: randomUUID() }, ['orgId']],
    ['get_device', JSON.parse(`{"deviceId":"${DEVICE.id}","__proto__":{"x":1}}`), ['__proto__']],
    ['get_device', [], ['arguments']],
    ['get_device', 'x', ['arguments']],
    ['list_devices', { limit: 0 }, ['limit']],
    ['list_devices', { limit: 51 }, ['limit']],
    ['list_devices', { limit: 1.5, status: 'lost', search: 'a\u0000' }, ['limit', 'status', 'search']],
    ['list_alerts', { limit: 26 }, ['limit']],
    ['get_posture_summary', { category: 'x' }, ['category']],
    ['set_device_tags', { deviceId: DEVICE.id, tags: Array(51).fill('a') }, ['tags']],
    ['set_device_tags', { deviceId: DEVICE.id, tags: ['\ud800'] }, ['tags.0']],
    ['set_device_custom_fields', { deviceId: DEVICE.id, customFields: {} }, ['customFields']],
    ['set_device_custom_fields', { deviceId: DEVICE.id, customFields: { a: [] } }, ['customFields.a']],
  ] as [string, unknown, string[]][])('refuses %s with %j with -32602, naming %j', async (name, args, fields) => {
    const call = toolsOf().call(everything, { name, arguments: args });
    await expect(call).rejects.toMatchObject({ code: -32602, data: { code: 'validation_failed' } });
    const refusal = (await refusalOf(name, args)) as unknown as { fieldErrors: object; message: string };
    expect(Object.keys(refusal.fieldErrors)).toEqual(fields);
    expect(refusal.message).toMatch(/^Invalid arguments: /);
    expect(Object.values(data).flatMap((method) => method.mock.calls)).toEqual([]);
  });

  it.each([
    [new NotFoundError('Device'), -32602, 'not_found'],
    [ValidationError.forField('rack', 'is no number'), -32602, 'validation_failed'],
    [new ConflictError(), -32602, 'conflict'],
    [new ForbiddenError(), -32603, 'permission_denied'],
  ])('converts %s of the owner', async (error, code, dataCode) => {
    data.setTags.mockRejectedValue(error);
    const call = toolsOf().call(everything, { name: 'set_device_tags', arguments: ARGUMENTS['set_device_tags'] });
    await expect(call).rejects.toMatchObject({ code, status: 200, data: { code: dataCode } });
  });

  it('leaves an outage of the owner an error of the request', async () => {
    data.getDevice.mockRejectedValue(new UnavailableError());
    const call = toolsOf().call(everything, { name: 'get_device', arguments: ARGUMENTS['get_device'] });
    await expect(call).rejects.toThrow(UnavailableError);
  });

  it('audits calls of tools that change something, once and without their arguments', async () => {
    const tools = toolsOf();
    await tools.call(everything, { name: 'list_devices' });
    await tools.call(everything, { name: 'set_device_tags', arguments: { deviceId: DEVICE.id, tags: ['secret tag'] } });
    await refusalOf('set_device_tags', { deviceId: 'secret id', tags: ['x'] });
    await refusalOf('run_script', { secret: 1 });
    await refusalOf('set_device_tags', {}, apiKeyCaller());
    expect(
      record.mock.calls.map(([, action, resource, details, result, code]) => [action, resource, details, result, code]),
    ).toEqual([
      [
        'mcp.tool',
        { type: 'mcp', name: 'set_device_tags' },
        { tool: 'set_device_tags', tier: 2 },
        'success',
        undefined,
      ],
      [
        ...['mcp.tool', { type: 'mcp', name: 'set_device_tags' }, { tool: 'set_device_tags', tier: 2 }],
        ...['failure', 'validation_failed'],
      ],
      ['mcp.tool', { type: 'mcp', name: 'run_script' }, { tool: 'run_script', tier: 3 }, 'denied', 'approval_required'],
      [
        ...['mcp.tool', { type: 'mcp', name: 'set_device_tags' }, { tool: 'set_device_tags', tier: 2 }],
        ...['denied', 'api_key_scope_required'],
      ],
    ]);
    expect(JSON.stringify(record.mock.calls.map(([, ...entry]) => entry as unknown))).not.toContain('secret');
  });

  it('returns the result although the audit entry cannot be written', async () => {
    record.mockRejectedValue(new Error('no database'));
    const call = toolsOf().call(everything, { name: 'set_device_tags', arguments: ARGUMENTS['set_device_tags'] });
    await expect(call).resolves.toMatchObject({ structuredContent: { tags: ['a'] } });
  });
});
