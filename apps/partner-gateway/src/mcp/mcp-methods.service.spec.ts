import { apiKeyCaller } from '../../test/api-key-callers.js';
import { McpMethods } from './mcp-methods.service.js';

describe('McpMethods', () => {
  const caller = apiKeyCaller();
  const tools = { list: () => [{ name: 'a' }], call: async () => ({ content: [] }) };
  const resources = { list: () => [], listTemplates: () => [], read: async () => ({ contents: [] }) };
  const prompts = { list: () => [], get: () => ({ messages: [] }) };
  const methods = new McpMethods(tools as never, resources as never, prompts);
  const call = (method: string, generation: 'handshake' | 'stateless', params: Record<string, unknown> = {}) =>
    methods.call(caller, { id: 1, method, params }, generation);

  const SHARED = ['tools/list', 'tools/call', 'resources/list', 'resources/templates/list', 'resources/read'];
  const LISTS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'];

  it.each([...SHARED, 'prompts/list', 'prompts/get'])('has %s in both generations', async (method) => {
    const plain = await call(method, 'handshake');
    expect(plain).not.toHaveProperty('resultType');
    expect(await call(method, 'stateless')).toMatchObject({
      ...plain,
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'rmm', version: '1.0.0' } },
    });
  });

  it.each([
    ['initialize', 'handshake', 'stateless'],
    ['ping', 'handshake', 'stateless'],
    ['server/discover', 'stateless', 'handshake'],
  ] as const)('has %s in %s only', async (method, has, lacks) => {
    await expect(call(method, has)).resolves.toBeDefined();
    await expect(call(method, lacks)).rejects.toMatchObject({ code: -32601 });
  });

  it('has a status for an unknown method in the stateless generation only', async () => {
    for (const method of ['sampling/createMessage', 'constructor', '']) {
      await expect(call(method, 'handshake')).rejects.toMatchObject({ code: -32601, status: 200 });
      await expect(call(method, 'stateless')).rejects.toMatchObject({ code: -32601, status: 404 });
    }
  });

  it('states the version, capabilities and instructions', async () => {
    const list = { listChanged: false };
    const capabilities = { tools: list, resources: list, prompts: list };
    expect(await call('initialize', 'handshake')).toEqual({
      protocolVersion: '2024-11-05',
      capabilities,
      serverInfo: { name: 'rmm', version: '1.0.0' },
      instructions: expect.any(String),
    });
    expect(await call('server/discover', 'stateless')).toMatchObject({
      supportedVersions: ['2026-07-28', '2024-11-05'],
      capabilities,
      instructions: expect.any(String),
    });
  });

  it('allows private caching of lists, and none of what is read', async () => {
    for (const method of [...LISTS, 'server/discover']) {
      expect(await call(method, 'stateless')).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' });
    }
    expect(await call('resources/read', 'stateless')).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
    expect(await call('tools/call', 'stateless')).not.toHaveProperty('ttlMs');
  });

  it.each(LISTS)('refuses a cursor of %s, which is one page, with -32602', async (method) => {
    await expect(call(method, 'handshake', { cursor: 'x' })).rejects.toMatchObject({ code: -32602 });
  });
});
